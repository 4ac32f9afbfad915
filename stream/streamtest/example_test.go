package streamtest_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/stream"
	"github.com/singletable/singletable/stream/streamtest"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Session is an entity that expires.
type Session struct {
	ID     string `dynamodbav:"sessionId"`
	Device string `dynamodbav:"device"`
}

func Example() {
	ctx := context.Background()
	engine, err := tabletest.Start(ctx, nil)
	check(err)
	defer engine.Close()
	var recorder streamtest.Recorder
	client := engine.Client(recorder.Install)
	spec := schema.Table{Name: "Sessions-" + rand.Text()}
	check(spec.Ensure(ctx, client))
	tbl, err := table.New(client, spec, nil)
	check(err)
	key := func(s Session) keys.Key { return keys.Key{PK: keys.Prefix("SESSION").PK(s.ID), SK: keys.Metadata} }
	sessions, err := repo.New(tbl, repo.Entity[Session]{Type: "SESSION", Key: key})
	check(err)
	router, err := stream.New(tbl, nil, stream.On(sessions, func(_ context.Context, c stream.Change[Session]) error {
		fmt.Println(c.Kind)
		return nil
	}))
	check(err)

	s := Session{ID: "s-1"}
	event, err := recorder.Event(tbl, func() error { return sessions.Create(ctx, &s) })
	check(err)
	_, err = router.Handle(ctx, event)
	check(err)
	event, err = recorder.Pipe(tbl, func() error { return sessions.Save(ctx, &Session{ID: "s-1", Device: "phone"}) })
	check(err)
	_, err = router.Handle(ctx, event)
	check(err)
	event, err = streamtest.Expire(ctx, client, tbl, key(s))
	check(err)
	_, err = router.Handle(ctx, event)
	check(err)
	// Output:
	// insert
	// modify
	// expire
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
