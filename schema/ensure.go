package schema

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/response"
)

// stillTime is how long Ensure waits while nothing changes, when the context has no
// deadline. On AWS a table takes about 15 seconds. Seen: nubo-db/dynamodb-conformance,
// vectorSearch.
const stillTime = 5 * time.Minute

// The pauses between looks at the table grow from the first to the second.
const (
	minTablePause = 20 * time.Millisecond
	maxTablePause = 2 * time.Second
)

// refusedPause is the least pause after a refused request: while DynamoDB prepares
// the backups of a new table, or builds another index. AWS: UpdateContinuousBackups,
// Amazon DynamoDB API Reference.
const refusedPause = time.Second

// shownTime is how long DynamoDB may take to show a change that it has accepted.
// Engines accept settings that they do not have.
const shownTime = 10 * time.Second

// Ensure makes the table exist as the schema says. It creates the table if it
// is missing. A table that is being deleted is created again as soon as it is
// gone. In an existing table it turns on the schema's settings that are off:
// TTL, the stream, deletion protection and point-in-time recovery. It adds
// missing global indexes one after the other. It returns when the table and
// these indexes are active, and [Table.Verify] finds no difference.
//
// A vector index that is active may not take searches yet, so Ensure ends with a search of
// each. It needs the permission for that, and a client that has SearchVectors, such as a
// *[dynamodb.Client]. Another client is not asked.
//
// It drops nothing. If one difference is among [Plan].Manual, such as another view
// of the stream, Ensure changes nothing and returns [ErrMismatch].
//
// An index costs write units, and can take hours on a large table:
// [Table.Plan] says how many units. Ensure waits until the deadline of the context.
// Without a deadline it waits until nothing has changed for 5 minutes. The error
// then names the index and its status, and DynamoDB goes on; call Ensure again
// to continue to wait. Several processes may call it concurrently. To show progress,
// give it a client that looks at the responses of DescribeTable.
//
// Errors:
//   - [keys.ErrInvalid], before any request.
//   - [ErrMismatch], as a [*Error] that lists every difference.
//   - [ErrUnsupported], as a [*Error] that lists them, if this engine does not have some
//     of the schema's settings. Everything else is as the schema says. To accept it for
//     tests, compare with [errors.Is].
//   - [*Error] with the end of the context or of the 5 minutes,
//     [context.DeadlineExceeded], and the last status.
//   - [*Error] with the SDK's error, if a request fails.
//
// AWS: "Managing Global Secondary Indexes in DynamoDB" and "Adding a Global Secondary
// Index to a large table", Amazon DynamoDB Developer Guide.
func (t Table) Ensure(ctx context.Context, client Client) error {
	i, err := t.inspector(client, "Ensure")
	if err != nil {
		return err
	}
	e := ensuring{inspector: i, accepted: map[string]time.Time{}, refused: map[string]error{}, cannot: map[string]bool{}, searched: map[string]bool{}}
	return e.run(ctx)
}

// ensuring is one call of Ensure.
type ensuring struct {
	inspector
	// accepted and refused are the requests that the last look does not show, by the
	// difference that they resolve.
	accepted map[string]time.Time
	refused  map[string]error
	// cannot are the differences that the engine cannot resolve.
	cannot map[string]bool
	// searched are the vector indexes that have taken a search.
	searched map[string]bool
}

// run looks at the table and changes it until there is no difference.
func (e *ensuring) run(ctx context.Context) error {
	var pending []difference
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	still := time.AfterFunc(stillTime, func() { cancel(context.DeadlineExceeded) })
	defer still.Stop()
	_, bounded := ctx.Deadline()
	if bounded {
		still.Stop() // The caller's deadline is the only bound.
	}
	for pause := time.Duration(0); ; pause = min(max(2*pause, minTablePause), maxTablePause) {
		all, err := e.lookAgain(ctx)
		switch {
		case err == nil && !slices.ContainsFunc(all, difference.open),
			err == nil && slices.ContainsFunc(all, func(d difference) bool { return d.kind == byHand }):
			return mismatch(e.schema.Name, all)
		case err == nil:
			all = inOrder(slices.DeleteFunc(all, func(d difference) bool { return !d.open() }))
			if !slices.EqualFunc(all, pending, func(a, b difference) bool { return a.Difference == b.Difference }) {
				pause = 0
				if !bounded {
					still.Reset(stillTime)
				}
			}
			pending = all
			err = e.request(ctx, pending)
		case pending != nil && ctx.Err() == nil && response.Passes(err):
			err = nil // An index takes hours: one failed look in between is none.
		}
		if err == nil {
			wait := pause
			if len(e.refused) > 0 {
				wait = max(wait, refusedPause)
			}
			select {
			case <-time.After(wait):
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		return e.failure(ctx, pending, err)
	}
}

// lookAgain returns the differences that are not notes, and forgets requests whose
// difference is gone.
func (e *ensuring) lookAgain(ctx context.Context) ([]difference, error) {
	all, err := e.look(ctx)
	if err != nil {
		return nil, err
	}
	if e.updating() {
		all = append(all, differs("", byEnsure, "wait until it is ACTIVE", "the table is %s", e.have.TableStatus))
	}
	for i, d := range all {
		if e.cannot[d.Difference] {
			all[i] = d.beyondEngine()
		}
	}
	if !slices.ContainsFunc(all, difference.open) {
		unsearched, err := e.searchDifferences(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, unsearched...)
	}
	gone := func(resolves string) bool {
		return !slices.ContainsFunc(all, func(d difference) bool { return d.Difference == resolves })
	}
	maps.DeleteFunc(e.accepted, func(resolves string, _ time.Time) bool { return gone(resolves) })
	maps.DeleteFunc(e.refused, func(resolves string, _ error) bool { return gone(resolves) })
	return all, nil
}

// updating reports whether DynamoDB refuses an UpdateTable.
func (e *ensuring) updating() bool {
	return e.have != nil && e.have.TableStatus == types.TableStatusUpdating
}

// request sends the requests that DynamoDB can accept now.
func (e *ensuring) request(ctx context.Context, pending []difference) error {
	updating := e.updating()
	building := e.have != nil && slices.ContainsFunc(liveIndexes(e.have), func(x index) bool { return x.status != "" })
	for _, d := range pending {
		if d.request == nil {
			continue
		}
		later := d.update && (updating || building && d.index != "")
		// A new table is shown late, and a second request for it harms nobody.
		if at, ok := e.accepted[d.Difference]; ok && d.missing == nil {
			if later {
				e.accepted[d.Difference] = time.Now()
			} else if time.Since(at) >= shownTime {
				if !e.forTests(ctx) {
					return mismatch(e.schema.Name, pending)
				}
				e.cannot[d.Difference] = true // it ignores what it does not have
			}
			updating = updating || d.update
			continue
		}
		if later {
			continue
		}
		updating = updating || d.update
		if err := e.send(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// send sends the request of a difference. It returns an error if waiting does
// not help. A concurrent process may have been faster, and DynamoDB refuses
// what is done already, so the first refusal is no error.
func (e *ensuring) send(ctx context.Context, d difference) error {
	err := d.request(ctx)
	if err == nil {
		e.accepted[d.Difference] = time.Now()
		delete(e.refused, d.Difference)
		return nil
	}
	if unknownOperation(err) {
		e.cannot[d.Difference] = true
		return nil
	}
	if d.missing != nil && e.schema.recent() && !e.plain && !d.passes(err) && e.forTests(ctx) {
		e.plain = true // each of the indexes is tried by itself, once there is a table
		return nil
	}
	before := e.refused[d.Difference]
	e.refused[d.Difference] = err
	if d.passes(err) || d.missing == nil && (before == nil || d.passes(before)) {
		return nil
	}
	if d.missing == nil && invalid(err) && e.forTests(ctx) {
		e.cannot[d.Difference] = true
		return nil
	}
	return &Error{Op: "Ensure", Table: e.schema.Name, Index: d.index, Err: fmt.Errorf("%s: %w", d.Difference, err)}
}

// passes reports whether DynamoDB accepts a refused request later: another change is
// in progress, or it prepares the backups of a new table. It refuses an index beyond
// the quota as one that has to wait.
func (d difference) passes(err error) bool {
	if limit := (*types.LimitExceededException)(nil); d.beyond && errors.As(err, &limit) {
		return false
	}
	preparing := (*types.ContinuousBackupsUnavailableException)(nil)
	return response.Passes(err) || errors.As(err, &preparing)
}

// failure returns the error of a call that ends without success. It says what the
// call was waiting for.
func (e *ensuring) failure(ctx context.Context, pending []difference, err error) error {
	if errors.Is(err, ErrMismatch) || errors.As(err, new(*Error)) {
		return err
	}
	out := &Error{Op: "Ensure", Table: e.schema.Name, Err: err}
	if ctx.Err() == nil || len(pending) == 0 {
		return out
	}
	d := pending[0]
	// What DynamoDB is doing keeps the rest waiting.
	if i := slices.IndexFunc(pending, func(d difference) bool { return d.request == nil }); i >= 0 {
		d = pending[i]
	}
	out.Index, out.Err = d.index, fmt.Errorf("%s: %w", d.Difference, context.Cause(ctx))
	if refused := e.refused[d.Difference]; refused != nil {
		out.Err = fmt.Errorf("%w: %w", out.Err, refused)
	}
	return out
}

// invalid reports whether an engine refused a request for its content, and not for a missing
// permission.
func invalid(err error) bool {
	api, _ := response.Of(err)
	return api != nil && api.ErrorCode() == "ValidationException"
}

// forTests reports whether the engine is one for tests, which may lack more than that.
func (e *ensuring) forTests(ctx context.Context) bool {
	_, err := e.client.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: e.want.TableName}, response.Limit)
	return unknownOperation(err)
}

// create sends the request for the table, if need be without indexes that Ensure adds then.
func (i *inspector) create(ctx context.Context) error {
	want := i.want
	if i.plain {
		s := i.schema
		s.Vectors = nil
		s.Indexes = slices.DeleteFunc(slices.Clone(s.Indexes), Index.several)
		var err error
		if want, err = s.CreateTableInput(); err != nil {
			return err
		}
	}
	_, err := i.client.CreateTable(ctx, want, response.Limit)
	return err
}

// updateTable returns a function that sends an UpdateTable.
func (i *inspector) updateTable(in *dynamodb.UpdateTableInput) func(context.Context) error {
	in.TableName = i.want.TableName
	return func(ctx context.Context) error {
		_, err := i.client.UpdateTable(ctx, in, response.Limit)
		return err
	}
}

func (i *inspector) turnTTLOn(ctx context.Context) error {
	_, err := i.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: i.want.TableName,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(i.schema.TTLAttribute), Enabled: aws.Bool(true),
		},
	}, response.Limit)
	return err
}

func (i *inspector) turnRecoveryOn(ctx context.Context) error {
	_, err := i.client.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{
		TableName: i.want.TableName,
		PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: aws.Bool(true),
		},
	}, response.Limit)
	return err
}
