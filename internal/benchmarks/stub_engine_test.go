package benchmarks_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/table/tabletest"
)

// TestStubAnswersAsTheEngine has every library do every job in both places, and
// compares what came back: the bytes, and what the library made of them.
func TestStubAnswersAsTheEngine(t *testing.T) {
	t.Parallel()
	p := enginePlace(t)
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			var engine, stubbed recorder
			onEngine := l.open(tabletest.Client(t, engine.install), p.table)
			onStub := l.open(newStub(p.table).client(stubbed.install), p.table)
			ctx := t.Context()

			want := recordAt(0)
			for _, lib := range []library{onEngine, onStub} {
				got, err := lib.get(ctx, want.UserID, want.CreatedAt, want.ID)
				must(t, err)
				mustEqual(t, got, want)
				page, more, err := lib.page(ctx, user)
				must(t, err)
				mustEqual(t, page, newestPage())
				mustEqual(t, more, true)
				c := newChange().numbered(1)
				c.created.ID = l.name
				must(t, lib.transact(ctx, c))
				must(t, lib.transactPut(ctx, newTrio().named("trio-"+l.name)))
			}
			if diff := cmp.Diff(engine.answers, stubbed.answers); diff != "" {
				t.Errorf("the stub answers otherwise than the engine (-engine +stub):\n%s", diff)
			}
		})
	}
}

// TestTransactConditions shows that every library's transaction depends on both
// of its conditions: it fails as a whole if the created record exists, or if the
// status of the updated one is another.
func TestTransactConditions(t *testing.T) {
	t.Parallel()
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			p := enginePlace(t)
			lib := l.open(p.client, p.table)
			first, second := newChange().numbered(1), newChange().numbered(2)
			p.mustWrite(t, first.stored(), func() error { return lib.transact(t.Context(), first) })

			again := second
			again.created.ID = first.created.ID
			if err := lib.transact(t.Context(), again); err == nil {
				t.Error("an existing record was created once more")
			}
			account := first.stored()[2]
			account.Status = "closed"
			put(t, p.client, p.table, account)
			if err := lib.transact(t.Context(), second); err == nil {
				t.Error("a closed account was updated")
			}
			mustEqual(t, read(t, p.client, p.table, account), account)
			mustEqual(t, read(t, p.client, p.table, first.stored()[1]), first.stored()[1])
			mustEqual(t, read(t, p.client, p.table, second.stored()[0]), record{})
		})
	}
}

// TestTransactPutConditions shows that every library's transaction depends on
// each of its records being new.
func TestTransactPutConditions(t *testing.T) {
	t.Parallel()
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			p := enginePlace(t)
			lib := l.open(p.client, p.table)
			for i := range (trio{}) {
				records := newTrio().numbered(i)
				existing := records.stored()[i]
				existing.Note = "already there"
				put(t, p.client, p.table, existing)
				if err := lib.transactPut(t.Context(), records); err == nil {
					t.Errorf("record %d was created once more", i)
				}
				for j, r := range records.stored() {
					want := record{}
					if j == i {
						want = existing
					}
					mustEqual(t, read(t, p.client, p.table, r), want)
				}
			}
			fresh := newTrio().numbered(len(trio{}))
			p.mustWrite(t, fresh.stored(), func() error { return lib.transactPut(t.Context(), fresh) })
		})
	}
}

// recorder keeps the answers that go through it.
type recorder struct {
	next    dynamodb.HTTPClient
	answers []recorded
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
	r.answers = append(r.answers, a)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}
