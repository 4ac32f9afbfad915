package main_test

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// library does the jobs as an engineer would who uses it every day: keys are made
// of ids where they are needed. Each write of a record draws a revision for it.
type library interface {
	// get reads the user's record of that time and id.
	get(ctx context.Context, user string, at time.Time, id string) (record, error)
	// page reads the newest records of the user, pageSize of them, and says
	// whether it learned where the next page begins.
	page(ctx context.Context, user string) (page []record, more bool, err error)
	// create stores a record and its copy, or nothing if one of them exists.
	create(ctx context.Context, r record) error
	// update reads a record consistently and changes its amount, provided that it
	// still has the revision that was read.
	update(ctx context.Context, user string, at time.Time, id string, amount int64) error
	// updateBoth is update for a record with a copy, which changes too.
	updateBoth(ctx context.Context, user string, at time.Time, id string, amount int64) error
	// createAll creates all records, or none if one of them exists.
	createAll(ctx context.Context, records []record) error
	// transactPut stores records, whatever is stored already.
	transactPut(ctx context.Context, records []record) error
	// pay takes the amount of a new record from another one, provided that it is open
	// and holds as much, and creates the new one and its copy, in one transaction.
	pay(ctx context.Context, from, r record) error
}

// libraries are named as in the results. singletable is package repo.
var libraries = []struct {
	name string
	open func(client *dynamodb.Client, tableName string) library
}{
	{"sdk", openSDK},
	{"sdk-maps", openSDKMaps},
	{"singletable", openRepo},
	{"guregu", openGuregu},
}
