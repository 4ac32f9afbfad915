package core

import (
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/shard"
	"github.com/singletable/singletable/table"
)

// Schema is the one table of the application. Items expire by expiresAt, which
// only the records of idempotent requests have.
func Schema(name string) table.Schema {
	return table.Schema{
		Name:    name,
		TTL:     "expiresAt",
		Indexes: []table.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}},
	}
}

// User is stored once, as USER#<userId> / PROFILE.
type User struct {
	ID        string    `dynamodbav:"userId"`
	Name      string    `dynamodbav:"name"`
	CreatedAt time.Time `dynamodbav:"createdAt"`
}

func userKey(id string) keys.Key {
	return keys.Key{PK: keys.User.PK(id), SK: keys.Profile}
}

var userEntity = repo.Entity[User]{
	Type: "USER",
	Key:  func(u User) keys.Key { return userKey(u.ID) },
}

// Status is how far a transaction has come.
type Status string

const (
	// Pending is a transaction that nobody has approved yet.
	Pending Status = "PENDING"
	// Completed is an approved transaction.
	Completed Status = "COMPLETED"
)

// Transaction is stored twice, and both copies are written together, always: as
// TX#<txId> / METADATA, to be found by its id, and as USER#<userId> /
// TX#<time>#<txId>, to be listed with its user. The first one is in the index
// GSI1 as well, among the transactions of all users.
type Transaction struct {
	ID       string `dynamodbav:"txId"`
	UserID   string `dynamodbav:"userId"`
	Amount   int64  `dynamodbav:"amount"` // in the smallest unit of the currency
	Currency string `dynamodbav:"currency"`
	Status   Status `dynamodbav:"status"`
	// Note is the user's own text, which the user can change at any time.
	Note string `dynamodbav:"note,omitempty"`
	// CreatedAt has milliseconds, as the keys do.
	CreatedAt time.Time `dynamodbav:"createdAt"`

	// Revision is another one after each change, and the ETag of the transaction.
	Revision string `dynamodbav:"revision"`
	// GlobalPK is the shard that the transaction was given when it was created.
	// An update leaves it there, also after their number has changed.
	// The index's own attribute is on one of the two items only.
	GlobalPK keys.PK `dynamodbav:"globalPK,omitempty"`
}

// globalKey is the key of the transaction in the index of all.
func (t Transaction) globalKey() keys.Key {
	return globalTx.KeyAt(t.GlobalPK, t.ID, keys.None.SK(keys.Time(t.CreatedAt), keys.Str(t.ID)))
}

// globalTx is the index of all transactions in order of time. One partition
// would take every write of the system, so it is spread over four.
var globalTx = shard.Index{Index: "GSI1", Prefix: "GLOBAL_TX", Shards: 4}

func transactionKey(id string) keys.Key {
	return keys.Key{PK: keys.Tx.PK(id), SK: keys.Metadata}
}

var transactionEntity = repo.Entity[Transaction]{
	Type:    "TRANSACTION",
	Key:     func(t Transaction) keys.Key { return transactionKey(t.ID) },
	Indexes: repo.Indexes[Transaction]{"GSI1": Transaction.globalKey},
	Copies: []repo.Copy[Transaction]{{Name: "by user", Key: func(t Transaction) keys.Key {
		return keys.Key{PK: keys.User.PK(t.UserID), SK: keys.Tx.SK(keys.Time(t.CreatedAt), keys.Str(t.ID))}
	}}},
	Version: "revision",
}

// Notification is stored once, as USER#<userId> / NOTIF#<time>#<notifId>.
type Notification struct {
	ID        string    `dynamodbav:"notifId"`
	UserID    string    `dynamodbav:"userId"`
	TxID      string    `dynamodbav:"txId"`
	Text      string    `dynamodbav:"text"`
	CreatedAt time.Time `dynamodbav:"createdAt"`
}

var notificationEntity = repo.Entity[Notification]{
	Type: "NOTIFICATION",
	Key: func(n Notification) keys.Key {
		return keys.Key{PK: keys.User.PK(n.UserID), SK: keys.Notif.SK(keys.Time(n.CreatedAt), keys.Str(n.ID))}
	},
}
