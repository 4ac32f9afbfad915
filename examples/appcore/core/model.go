package core

import (
	"time"

	"github.com/singletable/singletable/examples/internal/address"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/shard"
)

// Schema is the one table of the application. Items expire by expiresAt, which
// only the records of idempotent requests have.
func Schema(name string) schema.Table {
	return schema.Table{
		Name:         name,
		TTLAttribute: "expiresAt",
		Indexes:      []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}},
	}
}

// User is stored twice: as USER#<userId> / PROFILE, and as EMAIL#<email> /
// METADATA, which makes the e-mail unique.
type User struct {
	ID string `dynamodbav:"userId"`
	// Email is empty for users that releases without e-mails have stored.
	Email     string    `dynamodbav:"email,omitempty"`
	Name      string    `dynamodbav:"name"`
	CreatedAt time.Time `dynamodbav:"createdAt"`
	Revision  string    `dynamodbav:"revision"`
}

func userKey(id string) keys.Key {
	return keys.Key{PK: keys.User.PK(id), SK: keys.Profile}
}

const emailPrefix keys.Prefix = "EMAIL"

// emailKey is the zero key, and so no item, for a user without an e-mail. Other
// programs may store an e-mail in capitals: it is the same one.
func emailKey(email string) keys.Key {
	if email == "" {
		return keys.Key{}
	}
	return keys.Key{PK: emailPrefix.PK(address.Fold(email)), SK: keys.Metadata}
}

var userEntity = repo.Entity[User]{
	Type:    "USER",
	Key:     func(u User) keys.Key { return userKey(u.ID) },
	Copies:  []repo.Copy[User]{{Name: "by e-mail", Key: func(u User) keys.Key { return emailKey(u.Email) }}},
	Version: "revision",
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
//
// Items of the source design are in it too. They have a bare time for a sort key,
// and both copies of a transaction are in the index, so a reader needs
// NonUniqueSortKeys and [transactionID]. If the partition is GLOBAL_TX#0 there, list the shards in
// Suffixes. A list shows each transaction once. The first change of one makes both copies equal,
// and moves the one in the index to its shard. Until then, a user's list shows the status of its
// own copy, and there is no ETag: use If-Match: *.
var globalTx = shard.Index{Index: "GSI1", Prefix: "GLOBAL_TX", Shards: 4, NonUniqueSortKeys: true}

// transactionID tells copies of one transaction from other transactions.
func transactionID(t Transaction) string { return t.ID }

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
	ID     string `dynamodbav:"notifId"`
	UserID string `dynamodbav:"userId"`
	// TxID is empty for notifications of other programs.
	TxID      string    `dynamodbav:"txId,omitempty"`
	Message   string    `dynamodbav:"message"`
	Read      bool      `dynamodbav:"read"`
	CreatedAt time.Time `dynamodbav:"createdAt"`
	Revision  string    `dynamodbav:"revision"`
}

func (n Notification) key() keys.Key {
	return keys.Key{PK: keys.User.PK(n.UserID), SK: keys.Notif.SK(keys.Time(n.CreatedAt), keys.Str(n.ID))}
}

var notificationEntity = repo.Entity[Notification]{
	Type:    "NOTIFICATION",
	Key:     Notification.key,
	Version: "revision",
	// The first release had the message under text. It did not know which ones are
	// read, and a missing flag is false.
	Upgrades: []repo.Upgrade{repo.Rename("text", "message")},
}
