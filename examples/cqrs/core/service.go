// Package core is a system for many tenants whose data is changed by commands: records
// with versions and history, sequences, tasks, imports, and a catalogue, in one table.
// It knows nothing of HTTP.
//
// model.go says what is stored and what it is called; [Tenant] is what a caller can do.
// Everything that follows from a command is done by the handlers of the table's stream:
// see [Service.Router].
package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

var (
	// ErrInvalid means that a request is invalid.
	ErrInvalid = errors.New("invalid request")
	// ErrNoParent means that a record was to be put below one that is not there.
	ErrNoParent = fmt.Errorf("no such parent: %w", table.ErrConditionFailed)
)

// Service is the application, for all tenants. It is safe for concurrent use. Get one
// from [New].
type Service struct{ store }

// store has the repositories of the table.
type store struct {
	table    *table.Table
	entities Entities
	files    Files
	requests *idempotency.Store
	data     *repo.Repo[Data]
	listings *repo.Repo[Listing]
	commands *repo.Repo[Command]
	history  *repo.Repo[History]
	counters *repo.Repo[counter]
	tasks    *repo.Repo[Task]
	imports  *repo.Repo[Import]
	rows     *repo.Repo[Row]
	rejects  *repo.Repo[Reject]
}

// Options are what a [Service] can do without.
type Options struct {
	// Entities are the types of records. Nil are those of entities.json.
	Entities Entities
	// Files are what [Tenant.ImportFile] reads. Nil means that there are none.
	Files Files
}

// New returns the application on a table with the keys and indexes of [Schema]. Options may
// be nil.
func New(t *table.Table, options *Options) (*Service, error) {
	var o Options
	if options != nil {
		o = *options
	}
	if o.Files == nil {
		o.Files = noFiles{}
	}
	if o.Entities == nil {
		var err error
		if o.Entities, err = ParseEntities(declared); err != nil {
			return nil, err
		}
	}
	requests, err := idempotency.New(t, nil)
	if err != nil {
		return nil, err
	}
	s := &Service{store{table: t, entities: o.Entities, files: o.Files, requests: requests}}
	var errs [9]error
	s.data, errs[0] = repo.New(t, dataEntity(o.Entities))
	s.listings, errs[1] = repo.New(t, listingEntity)
	s.commands, errs[2] = repo.New(t, commandEntity)
	s.history, errs[3] = repo.New(t, historyEntity)
	s.counters, errs[4] = repo.New(t, counterEntity)
	s.tasks, errs[5] = repo.New(t, taskEntity)
	s.imports, errs[6] = repo.New(t, importEntity)
	s.rows, errs[7] = repo.New(t, rowEntity)
	s.rejects, errs[8] = repo.New(t, rejectEntity)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return s, nil
}

// Forms returns the stored form of each entity, which a test compares with that of the last
// release. The keys of records depend on what is declared of their type, so they have samples.
func (s *Service) Forms() []repo.Form {
	var data []Data
	var commands []Command
	var history []History
	for _, tenant := range []string{"ACME", "GLOBEX"} {
		for _, ref := range []Ref{
			NewRef("PRODUCT", "LAMP"), NewRef("PRODUCT", "DESK"), NewRef("DEPT", "SALES"), NewRef("DEPT", "SALES", "EAST"),
			NewRef("DEPT", "BOARD"), NewRef("ORDER", "2024", "O-1"), NewRef("ORDER", "2025", "O-2"), NewRef("USER", "ana"), NewRef("USER", "bob"),
		} {
			r := Record{TenantCode: tenant, Type: ref.Type, Parents: ref.Parents, Code: ref.Code, Version: int64(3 + len(data))}
			data = append(data, Data{r})
			commands = append(commands, Command{Record: r})
			history = append(history, History{Record: r, Seq: r.Version})
		}
	}
	return []repo.Form{
		s.data.Form(data...), s.listings.Form(), s.commands.Form(commands...), s.history.Form(history...), s.counters.Form(),
		s.tasks.Form(), s.imports.Form(), s.rows.Form(), s.rejects.Form(),
	}
}

// Caller identifies the user and the tenant of an authenticated request.
type Caller struct {
	Tenant, User, IP string
	// Source says by which way a command came. It is kept in the command.
	Source string
	// RequestID identifies a request of the user. It is kept in the command, and a
	// command that is repeated with it has the result of the first one for 24 hours.
	// Commands without it are not recognized when they are repeated.
	RequestID string
}

// Tenant is the service for one caller. Its methods build every key with the caller's
// tenant and take none from outside: this is what isolates tenants. It is safe for
// concurrent use. Get one from [Service.As].
type Tenant struct {
	*store
	caller Caller
}

// As returns the service for a caller.
func (s *Service) As(c Caller) Tenant { return s.as(c) }

func (s *store) as(c Caller) Tenant { return Tenant{store: s, caller: c} }

// Get reads a record as it stands. Records of types with Stream are there a moment after
// they were published.
func (t Tenant) Get(ctx context.Context, r Ref) (Record, error) {
	if err := t.entities.check(r); err != nil {
		return Record{}, err
	}
	d, err := t.data.Consistent().Get(ctx, dataKey(t.caller.Tenant, r))
	return d.Record, err
}

// ByID reads a record by its id. An id of another tenant is treated as missing,
// without a request.
func (t Tenant) ByID(ctx context.Context, id string) (Record, error) {
	parts, err := keys.Parse(id)
	if err != nil || len(parts) < 3 || parts[1] != t.caller.Tenant {
		return Record{}, fmt.Errorf("id: %w", table.ErrNotFound)
	}
	r := NewRef(parts[0], parts[2:]...)
	if t.entities.check(r) != nil {
		return Record{}, fmt.Errorf("id: %w", table.ErrNotFound)
	}
	return t.Get(ctx, r)
}

// ByCode reads a page of the records with a business code, below any parent: those of a
// type, or with an empty type those of all types with an index. It asks the index, so a
// record is found there a moment after it was published.
func (t Tenant) ByCode(ctx context.Context, typ, code string, limit int, after string) (table.Page[Record], error) {
	q := table.Query{Index: codeIndex, PK: codePartition(t.caller.Tenant, code), Limit: limit, After: after}
	if typ != "" {
		if _, err := t.entities.of(typ); err != nil {
			return table.Page[Record]{}, err
		}
		q.Range = keys.Prefix(typ).All()
	}
	return t.page(ctx, q)
}

// List reads a page of the records of a type, in the order of their codes.
func (t Tenant) List(ctx context.Context, typ string, limit int, after string) (table.Page[Record], error) {
	if _, err := t.entities.of(typ); err != nil {
		return table.Page[Record]{}, err
	}
	return t.page(ctx, t.within(typ, keys.Prefix(typ).All(), limit, after))
}

// Below reads a page of everything below a record, at any depth.
func (t Tenant) Below(ctx context.Context, r Ref, limit int, after string) (table.Page[Record], error) {
	if _, err := t.entities.of(r.Type); err != nil {
		return table.Page[Record]{}, err
	}
	return t.page(ctx, t.within(r.Type, keys.Prefix(r.Type).All(segments(r.Path())...), limit, after))
}

// within asks for a page of the records of a type in a range.
func (t Tenant) within(typ string, within keys.Range, limit int, after string) table.Query {
	return table.Query{PK: keys.Prefix(typ).PK(t.caller.Tenant), Range: within, Limit: limit, After: after}
}

func (t Tenant) page(ctx context.Context, q table.Query) (table.Page[Record], error) {
	q.Scope = t.caller.Tenant // the cursor is bound to the tenant, in addition to its partition
	page, err := t.data.Query(ctx, q)
	return table.Page[Record]{Items: records(page.Items), Next: page.Next, Stats: page.Stats}, err
}

// Version reads a record as it stood at one of its versions. It finds what publish has
// returned at once.
func (t Tenant) Version(ctx context.Context, r Ref, version int64) (History, error) {
	if err := t.entities.check(r); err != nil {
		return History{}, err
	}
	return t.history.Consistent().Get(ctx, histories.key(t.caller.Tenant, r, version))
}

// Versions reads a page of a record's history, newest first.
func (t Tenant) Versions(ctx context.Context, r Ref, limit int, after string) (table.Page[History], error) {
	return newest(ctx, t, t.history, histories, r, limit, after)
}

// Commands reads a page of the commands that a record was made by, newest
// first.
func (t Tenant) Commands(ctx context.Context, r Ref, limit int, after string) (table.Page[Command], error) {
	return newest(ctx, t, t.commands, commands, r, limit, after)
}

// newest reads a page of the items that a record has for its versions, newest first.
func newest[T any](ctx context.Context, t Tenant, from *repo.Repo[T], of versioned, r Ref, limit int, after string) (table.Page[T], error) {
	if err := t.entities.check(r); err != nil {
		return table.Page[T]{}, err
	}
	q := of.query(t.caller.Tenant, r)
	q.Descending, q.Limit, q.After, q.Scope = true, limit, after, t.caller.Tenant
	return from.Query(ctx, q)
}

func records(found []Data) []Record {
	rs := make([]Record, len(found))
	for i, d := range found {
		rs[i] = d.Record
	}
	return rs
}
