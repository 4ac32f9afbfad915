package main

import (
	"context"
	"fmt"

	"github.com/singletable/singletable/examples/internal/report"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
)

// The four access patterns of the application. Each is one function: the keys
// it asks for, and the reads.

// userTransactions is pattern 1: a user's transactions, newest first, page by
// page. A service would put page.Next into its response and take it from the
// next request.
func userTransactions(ctx context.Context, r repos, out report.Report, user string) error {
	q := table.Query{
		PK:         keys.User.PK(user),
		Range:      keys.Tx.All(),
		Descending: true,
		Limit:      5,
		Scope:      user,
	}
	out.Title("1. A user's transactions, newest first, page by page")
	out.Line("  table, pk = %s and sk begins with %s, backwards, pages of %d", q.PK, q.Range.Prefix, q.Limit)
	found := 0
	for number := 1; ; number++ {
		page, err := r.transactions.Query(ctx, q)
		if err != nil {
			return err
		}
		found += len(page.Items)
		out.Line("  page %d", number)
		out.Rows(transactionRows(page.Items, byUser)...)
		if page.Next == "" {
			break
		}
		q.After = page.Next
	}
	out.Cost("read", found)
	return nil
}

// transactionByID is pattern 2: one transaction by its id.
func transactionByID(ctx context.Context, r repos, out report.Report, id string) error {
	key := transactionKey(id)
	out.Title("2. A transaction by its id")
	out.Line("  table, pk = %s and sk = %s", key.PK, key.SK)
	t, err := r.transactions.Get(ctx, key)
	if err != nil {
		return err
	}
	out.Rows(transactionRows([]Transaction{t}, byID)...)
	out.Cost("read", 1)
	return nil
}

// userNotifications is pattern 3: a user's notifications, newest first.
func userNotifications(ctx context.Context, r repos, out report.Report, user string) error {
	q := table.Query{PK: keys.User.PK(user), Range: keys.Notif.All(), Descending: true}
	out.Title("3. A user's notifications, newest first")
	out.Query(spec(""), q)
	notifications, err := table.Collect(r.notifications.All(ctx, q))
	if err != nil {
		return err
	}
	report.Found(out, notifications, func(n Notification) string {
		return fmt.Sprintf("%s\t%s", notificationEntity.Key(n).SK, n.Text)
	})
	return nil
}

// newestTransactions is pattern 4: the newest transactions of the whole system,
// which no partition of the table holds together. The index GSI1 does, in a few
// partitions that are read in parallel and merged.
func newestTransactions(ctx context.Context, r repos, out report.Report, limit int) error {
	out.Title("4. The newest transactions of the whole system")
	out.Line("  index %s, GSI1PK = %s and %s#1 to #%d in parallel, backwards, the first %d of all",
		globalTx.Index, globalTx.Prefix, globalTx.Prefix, globalTx.Shards-1, limit)
	page, err := r.newest.Page(ctx, shard.Query{Limit: limit, Descending: true})
	if err != nil {
		return err
	}
	out.Rows(transactionRows(page.Items, inIndex)...)
	out.Cost("read", len(page.Items))
	return nil
}

// transactionRows prints transactions with the key under which they were found.
func transactionRows(ts []Transaction, key func(Transaction) keys.Key) []string {
	rows := make([]string, len(ts))
	for i, t := range ts {
		k := key(t)
		rows[i] = fmt.Sprintf("%s\t%s\t%s\t%d %s\t%s", k.PK, k.SK, t.UserID, t.Amount, t.Currency, t.Status)
	}
	return rows
}
