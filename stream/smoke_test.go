package stream_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

type User struct {
	ID    string `dynamodbav:"id"`
	Email string `dynamodbav:"email"`
	Rev   string `dynamodbav:"rev"`
}

func TestSmoke(t *testing.T) {
	client := tabletest.Client(t)
	tbl := tabletest.NewWith(t, client, table.Schema{Name: "smoke", Stream: types.StreamViewTypeNewAndOldImages, TTL: "ttl"}, nil)
	users, err := repo.New(tbl, repo.Entity[User]{Type: "USER", Version: "rev",
		Key:    func(u User) keys.Key { return keys.Key{PK: keys.User.PK(u.ID), SK: keys.Profile} },
		Copies: []repo.Copy[User]{{Key: func(u User) keys.Key { return keys.Key{PK: keys.Prefix("EMAIL").PK(u.Email), SK: keys.Profile} }}}})
	if err != nil {
		t.Fatal(err)
	}
	sc := streamtest.Client(client)
	u := User{ID: "1", Email: "a@x"}
	if err := users.Create(t.Context(), &u); err != nil {
		t.Fatal(err)
	}
	if _, err := users.Update(t.Context(), keys.Key{PK: keys.User.PK("1"), SK: keys.Profile}, func(u *User) error { u.Email = "b@x"; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := users.Delete(t.Context(), keys.Key{PK: keys.User.PK("1"), SK: keys.Profile}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	router, err := stream.New(tbl, nil, stream.On(users, func(_ context.Context, c stream.Change[User]) error {
		t.Log(c.Kind, c.Old, c.New, c.Changed, c.Sequence, c.EventID, c.Stream, c.At)
		if n++; n == 3 {
			cancel()
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	err = stream.Reader{Name: "c", Router: router, Client: sc, Progress: func(p stream.Progress) { t.Log(p) }}.Run(ctx)
	t.Log(err, time.Since(begun))
	t.Log(string(router.EventFilter()))
	page, err := table.ScanPage[table.Item](t.Context(), tbl, table.Scan{})
	for _, i := range page.Items {
		t.Log(tbl.KeyOf("", i), i)
	}

	v := User{ID: "2", Email: "c@x"}
	event, err := streamtest.Transact(t.Context(), client, tbl, users.CreateOps(&v)...)
	t.Log(string(event), err)
	n = 5
	resp, err := router.Handle(t.Context(), event)
	t.Log(resp, err)
	event, err = streamtest.Expire(t.Context(), client, tbl, keys.Key{PK: keys.User.PK("2"), SK: keys.Profile})
	resp, err = router.Handle(t.Context(), event)
	t.Log(resp, err)
}
