package main

import (
	"time"

	"github.com/singletable/singletable/idempotency"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
)

// The model: which items there are, and what they are called. The access
// patterns came first; each key below is there because a pattern needs it.

// schema is the one table of the application. Every attribute that is not a key
// is left to the items.
func spec(name string) schema.Table {
	return schema.Table{
		Name:         name,
		TTLAttribute: "expiresAt",
		Indexes:      []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}},
	}
}

// User is stored once, as USER#<id> / PROFILE.
type User struct {
	ID        string    `dynamodbav:"userId"`
	Name      string    `dynamodbav:"name"`
	CreatedAt time.Time `dynamodbav:"createdAt"`
}

var userEntity = repo.Entity[User]{
	Type: "USER",
	Key:  func(u User) keys.Key { return keys.Key{PK: keys.User.PK(u.ID), SK: keys.Profile} },
}

// Transaction is stored twice: as TX#<id> / METADATA, to be found by its id, and
// as USER#<user> / TX#<time>#<id>, to be listed with its user. The library
// writes both in one DynamoDB transaction. The first one is in the index GSI1
// too, where all transactions of the system are in order of time.
type Transaction struct {
	ID        string    `dynamodbav:"txId"`
	UserID    string    `dynamodbav:"userId"`
	Amount    int64     `dynamodbav:"amount"`
	Currency  string    `dynamodbav:"currency"`
	Status    string    `dynamodbav:"status"`
	CreatedAt time.Time `dynamodbav:"createdAt"`
	// Version guards both copies.
	Version int64 `dynamodbav:"version"`
}

// globalTx is the index of all transactions, in order of time. One partition
// would take every write of the system, so it is spread over four: GLOBAL_TX and
// GLOBAL_TX#1 to GLOBAL_TX#3. A system with little traffic needs one only.
var globalTx = shard.Index{Index: "GSI1", Prefix: "GLOBAL_TX", Shards: 4}

func transactionKey(id string) keys.Key {
	return keys.Key{PK: keys.Tx.PK(id), SK: keys.Metadata}
}

func byID(t Transaction) keys.Key { return transactionKey(t.ID) }

func byUser(t Transaction) keys.Key {
	return keys.Key{PK: keys.User.PK(t.UserID), SK: keys.Tx.SK(keys.Time(t.CreatedAt), keys.Str(t.ID))}
}

func inIndex(t Transaction) keys.Key {
	return globalTx.Key(t.ID, keys.None.SK(keys.Time(t.CreatedAt), keys.Str(t.ID)))
}

var transactionEntity = repo.Entity[Transaction]{
	Type:    "TRANSACTION",
	Key:     byID,
	Indexes: repo.Indexes[Transaction]{"GSI1": inIndex},
	Copies:  []repo.Copy[Transaction]{{Name: "by user", Key: byUser}},
	// Ids are not used again, so a number tells the states of an entity apart.
	Version: "version",
}

// Notification is stored once, as USER#<user> / NOTIF#<time>#<id>.
type Notification struct {
	ID        string    `dynamodbav:"notifId"`
	UserID    string    `dynamodbav:"userId"`
	Text      string    `dynamodbav:"text"`
	CreatedAt time.Time `dynamodbav:"createdAt"`
}

var notificationEntity = repo.Entity[Notification]{
	Type: "NOTIFICATION",
	Key: func(n Notification) keys.Key {
		return keys.Key{PK: keys.User.PK(n.UserID), SK: keys.Notif.SK(keys.Time(n.CreatedAt), keys.Str(n.ID))}
	},
}

// repos are the typed doors to the table.
type repos struct {
	users         *repo.Repo[User]
	transactions  *repo.Repo[Transaction]
	notifications *repo.Repo[Notification]
	// newest reads the transactions of all users from the index.
	newest *shard.Reader[Transaction]
	// requests keeps the records of what clients have asked for.
	requests *idempotency.Store
}

func newRepos(t *table.Table) (r repos, err error) {
	if r.users, err = repo.New(t, userEntity); err != nil {
		return r, err
	}
	if r.transactions, err = repo.New(t, transactionEntity); err != nil {
		return r, err
	}
	if r.notifications, err = repo.New(t, notificationEntity); err != nil {
		return r, err
	}
	if r.newest, err = shard.New[Transaction](t.OfType(transactionEntity.Type), globalTx, nil); err != nil {
		return r, err
	}
	r.requests, err = idempotency.New(t, nil)
	return r, err
}
