package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/table/tabletest"
)

// TestStubRespondsAsTheEngine has every library do every job in both places, and
// compares what came back: the bytes, and what the library made of them.
func TestStubRespondsAsTheEngine(t *testing.T) {
	t.Parallel()
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			p := enginePlace(t)
			var engine, stubbed recorder
			onEngine := l.open(tabletest.Client(t, engine.install), p.table)
			onStub := l.open(newStub(p.table, nil).client(stubbed.install), p.table)
			ctx := t.Context()

			want, fresh := recordAt(0), unkeyed(0)
			fresh.ID = "one"
			for _, lib := range []library{onEngine, onStub} {
				got, err := lib.get(ctx, want.UserID, want.CreatedAt, want.ID)
				must(t, err)
				mustEqual(t, got, want)
				page, more, err := lib.page(ctx, user)
				must(t, err)
				mustEqual(t, page, newestPage())
				mustEqual(t, more, true)
				must(t, lib.create(ctx, fresh))
				must(t, lib.transactCreate(ctx, hundred()))
				must(t, lib.transactPut(ctx, hundred()[:3]))
				paid := unkeyed(0)
				paid.ID, paid.Amount = "paid", 0
				must(t, lib.pay(ctx, recordAt(1), paid))
			}
			must(t, onEngine.updateBoth(ctx, want.UserID, want.CreatedAt, want.ID, 7))
			must(t, onStub.updateBoth(ctx, want.UserID, want.CreatedAt, want.ID, 7))
			put(t, p.client, p.table, want)
			must(t, onEngine.update(ctx, want.UserID, want.CreatedAt, want.ID, 8))
			must(t, onStub.update(ctx, want.UserID, want.CreatedAt, want.ID, 8))
			if diff := cmp.Diff(engine.responses, stubbed.responses); diff != "" {
				t.Errorf("the responses of the stub differ from the engine's (-engine +stub):\n%s", diff)
			}
		})
	}
}

// TestRepoSendsWhatTableDoes shows that the two layers of this library are
// compared over the same requests.
func TestRepoSendsWhatTableDoes(t *testing.T) {
	t.Parallel()
	transcript := func(open func(*dynamodb.Client, string) library) string {
		var faults tabletest.Faults
		lib, ctx, r := open(newStub(spec.Name, nil).client(faults.Install), spec.Name), t.Context(), unkeyed(0)
		_, err := lib.get(ctx, r.UserID, r.CreatedAt, r.ID)
		must(t, err)
		_, _, err = lib.page(ctx, user)
		must(t, err)
		must(t, lib.create(ctx, r))
		must(t, lib.update(ctx, r.UserID, r.CreatedAt, r.ID, 7))
		must(t, lib.updateBoth(ctx, r.UserID, r.CreatedAt, r.ID, 7))
		must(t, lib.transactCreate(ctx, hundred()))
		must(t, lib.transactPut(ctx, hundred()[:3]))
		must(t, lib.pay(ctx, recordAt(1), r))
		return regexp.MustCompile(`"[A-Z2-7]{26}"`).ReplaceAllString(tabletest.Transcript(faults.Requests(), nil), `"REVISION"`)
	}
	if diff := cmp.Diff(transcript(openTable), transcript(openRepo)); diff != "" {
		t.Errorf("requests (-table +repo):\n%s", diff)
	}
}

// TestCreateConditions shows that every library stores a record and its copy only
// if both are new.
func TestCreateConditions(t *testing.T) {
	t.Parallel()
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			p := enginePlace(t)
			lib := l.open(p.client, p.table)
			for i := range 2 {
				r := unkeyed(i)
				r.ID = "new-" + strconv.Itoa(i)
				taken, free := both(r)[i], both(r)[1-i]
				taken.Note = "already there"
				put(t, p.client, p.table, taken)
				if err := lib.create(t.Context(), r); err == nil {
					t.Errorf("item %d was created once more", i)
				}
				mustEqual(t, read(t, p.client, p.table, taken), taken)
				mustEqual(t, read(t, p.client, p.table, free), record{})
			}
		})
	}
}

// TestTransactCreateConditions shows that every library's transaction depends on
// each of its records being new.
func TestTransactCreateConditions(t *testing.T) {
	t.Parallel()
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			p := enginePlace(t)
			lib := l.open(p.client, p.table)
			all := hundred()
			for _, i := range []int{0, 41, 99} {
				for j := range all {
					all[j].ID = fmt.Sprintf("new-%d", i)
				}
				existing := keyed(all[i])
				existing.Note = "already there"
				put(t, p.client, p.table, existing)
				if err := lib.transactCreate(t.Context(), all); err == nil {
					t.Errorf("record %d was created once more", i)
				}
				mustEqual(t, read(t, p.client, p.table, existing), existing)
				mustEqual(t, read(t, p.client, p.table, keyed(all[(i+1)%100])), record{})
			}
		})
	}
}

// TestUpdateConditions shows that every library's update fails if the record is
// another one when it is written than when it was read.
func TestUpdateConditions(t *testing.T) {
	t.Parallel()
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			p := enginePlace(t)
			r := recordAt(0)
			for name, update := range map[string]func(library) error{
				"update":     func(lib library) error { return lib.update(t.Context(), user, r.CreatedAt, r.ID, 7) },
				"updateBoth": func(lib library) error { return lib.updateBoth(t.Context(), user, r.CreatedAt, r.ID, 7) },
			} {
				put(t, p.client, p.table, r)
				var faults tabletest.Faults
				faults.Always("GetItem", func(q *http.Request, next http.RoundTripper) (*http.Response, error) {
					resp, err := next.RoundTrip(q)
					_, deleteErr := p.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &p.table, Key: keyItem(r.PK, r.SK)})
					return resp, errors.Join(err, deleteErr)
				})
				if err := update(l.open(tabletest.Client(t, faults.Install), p.table)); err == nil {
					t.Errorf("%s of a deleted record: no error", name)
				}
				mustEqual(t, read(t, p.client, p.table, r), record{})
			}
		})
	}
}

// recorder keeps the responses that go through it.
type recorder struct {
	next      dynamodb.HTTPClient
	responses []recorded
}

type recorded struct {
	Target, ContentType string
	Checked             bool // The body has a checksum.
	Status              int
	Body                any
}

func (r *recorder) install(o *dynamodb.Options) {
	r.next, o.HTTPClient = o.HTTPClient, r
}

// Do passes a request on.
func (r *recorder) Do(req *http.Request) (*http.Response, error) {
	resp, err := r.next.Do(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if err := resp.Body.Close(); err != nil {
		return nil, err
	}
	a := recorded{
		Target:      req.Header.Get("X-Amz-Target"),
		ContentType: resp.Header.Get("Content-Type"),
		Checked:     resp.Header.Get("X-Amz-Crc32") != "",
		Status:      resp.StatusCode,
	}
	if err := json.Unmarshal(body, &a.Body); err != nil {
		return nil, err
	}
	r.responses = append(r.responses, a)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}
