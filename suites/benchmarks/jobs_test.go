package main_test

import (
	"context"
	"strconv"
	"testing"
	"time"
)

// job is one that all libraries do; see the documentation of this package.
type job struct {
	name string
	// ofSDK and allocsOfSDK are the most bytes and allocations of repo for one of the SDK's.
	ofSDK, allocsOfSDK float64
	// do does the job once more.
	do func(context.Context, library) error
	// read checks what a library reads.
	read func(testing.TB, library)
	// operation is the request of a write, and next returns what do stores next, or
	// some of it.
	operation string
	next      func() []record
}

// check does the job once, and fails unless it is done right.
func (j job) check(tb testing.TB, p place, lib library) {
	tb.Helper()
	if j.read != nil {
		j.read(tb, lib)
		return
	}
	p.mustWrite(tb, j.operation, j.next(), func() error { return j.do(tb.Context(), lib) })
}

// jobs returns all jobs. Each keeps count, so that what it creates is new.
func jobs() []job {
	return []job{
		getJob(), queryJob(), createJob(),
		updateJob("Update", 0.38, 0.34, "UpdateItem", library.update, single),
		updateJob("UpdateBoth", 0.42, 0.365, "TransactWriteItems", library.updateBoth, both),
		transactJob("CreateOps", 0.46, 0.71, 100, library.createAll),
		transactJob("TransactPut", 0.41, 0.37, 3, library.transactPut),
		payJob(),
	}
}

// getJob reads one record.
func getJob() job {
	want := recordAt(0)
	get := func(ctx context.Context, lib library) (record, error) {
		return lib.get(ctx, want.UserID, want.CreatedAt, want.ID)
	}
	return job{
		name: "Get", ofSDK: 0.31, allocsOfSDK: 0.27,
		do: func(ctx context.Context, lib library) error {
			_, err := get(ctx, lib)
			return err
		},
		read: func(tb testing.TB, lib library) {
			tb.Helper()
			got, err := get(tb.Context(), lib)
			must(tb, err)
			mustEqual(tb, got, want)
		},
	}
}

// queryJob reads a page of pageSize records.
func queryJob() job {
	return job{
		name: "Query", ofSDK: 0.31, allocsOfSDK: 0.038,
		do: func(ctx context.Context, lib library) error {
			_, _, err := lib.page(ctx, user)
			return err
		},
		read: func(tb testing.TB, lib library) {
			tb.Helper()
			got, more, err := lib.page(tb.Context(), user)
			must(tb, err)
			mustEqual(tb, got, newestPage())
			mustEqual(tb, more, true)
		},
	}
}

// createJob stores a new record and its copy, in one transaction.
func createJob() job {
	r, n := unkeyed(0), 0
	return job{
		name: "Create", ofSDK: 0.35, allocsOfSDK: 0.335, operation: "TransactWriteItems",
		do: func(ctx context.Context, lib library) error {
			n++
			r.ID = "new-" + strconv.Itoa(n)
			return lib.create(ctx, r)
		},
		next: func() []record {
			want := r
			want.ID = "new-" + strconv.Itoa(n+1)
			return both(want)
		},
	}
}

// updateJob changes one field of a record, and of its copy if it has one.
func updateJob(name string, ofSDK, allocsOfSDK float64, operation string, update updater, stored func(record) []record) job {
	r := unkeyed(0)
	return job{
		name: name, ofSDK: ofSDK, allocsOfSDK: allocsOfSDK, operation: operation,
		do: func(ctx context.Context, lib library) error {
			r.Amount++
			return update(lib, ctx, r.UserID, r.CreatedAt, r.ID, r.Amount)
		},
		next: func() []record {
			want := r
			want.Amount++
			return stored(want)
		},
	}
}

// updater is a method of a library.
type updater func(lib library, ctx context.Context, user string, at time.Time, id string, amount int64) error

// single returns the item of a record without a copy.
func single(r record) []record { return []record{keyed(r)} }

// transactJob writes records in one transaction.
func transactJob(name string, ofSDK, allocsOfSDK float64, size int, write func(library, context.Context, []record) error) job {
	records, n := hundred()[:size], 0
	id := func(n int) string { return name + "-" + strconv.Itoa(n) }
	return job{
		name: name, ofSDK: ofSDK, allocsOfSDK: allocsOfSDK, operation: "TransactWriteItems",
		do: func(ctx context.Context, lib library) error {
			n++
			for i := range records {
				records[i].ID = id(n)
			}
			return write(lib, ctx, records)
		},
		next: func() []record {
			want := records[size-1]
			want.ID = id(n + 1)
			return []record{keyed(want)}
		},
	}
}

// payJob creates a record and its copy, and takes its amount from another one on a
// condition, in one transaction.
func payJob() job {
	from, r, n := recordAt(1), unkeyed(0), 0
	r.Amount = 0 // so that it can be taken without end
	return job{
		name: "Transact", ofSDK: 0.52, allocsOfSDK: 0.58, operation: "TransactWriteItems",
		do: func(ctx context.Context, lib library) error {
			n++
			r.ID = "paid-" + strconv.Itoa(n)
			return lib.pay(ctx, from, r)
		},
		next: func() []record {
			want := r
			want.ID = "paid-" + strconv.Itoa(n+1)
			return both(want)
		},
	}
}

// both returns the items of a record with a copy.
func both(r record) []record {
	r = keyed(r)
	return []record{r, copied(r)}
}
