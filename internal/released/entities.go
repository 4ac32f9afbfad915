// Package released describes entities as programs of 0.1.0-rc.1 and of this release can, for
// tests of what they keep of each other's. It compiles with both.
package released

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// Schema is a schema.Table as JSON, whose names no release has changed.
const Schema = `{"name": "released", "ttl": "expiresAt", "indexes": [{"name": "GSI1", "pk": "gsi1pk", "sk": "gsi1sk"},
	{"name": "GSI2", "pk": "gsi2pk", "sk": "gsi2sk"}]}`

// VectorSchema is that of products.
const VectorSchema = `{"name": "released", "vectors": [{"name": "similar", "attribute": "embedding", "dimensions": 2}]}`

// The types of entities.
const (
	// Plain entities have no version, Tallies an integer, and Grown ones a revision and a
	// compatible upgrade. Each is one item.
	Plain = "PLAIN"
	Tally = "TALLY"
	Grown = "GROWN"
	// Counted and Revised entities have copies, claims and index keys. Their version is an
	// integer, and a revision.
	Counted = "COUNTED"
	Revised = "REVISED"
	// Shaped entities have a compatible upgrade, and Sealed ones one that is not.
	Shaped = "SHAPED"
	Sealed = "SEALED"
	// Moving entities have a copy with which the main item changes places.
	Moving = "MOVING"
)

// Doc is an entity before any upgrade.
type Doc struct {
	ID       string   `dynamodbav:"id"`
	Email    string   `dynamodbav:"email,omitempty"`
	Aliases  []string `dynamodbav:"aliases,omitempty"`
	N        int      `dynamodbav:"n"`
	Expires  int64    `dynamodbav:"expiresAt,omitempty"`
	Version  int64    `dynamodbav:"version,omitempty"`
	Revision string   `dynamodbav:"revision,omitempty"`
}

// Boxed is a Doc after the upgrade, which derives the mailbox of its e-mail.
type Boxed struct {
	Doc
	Mailbox string `dynamodbav:"mailbox,omitempty"`
}

// Product is an entity with a vector. In 0.1.0-rc.1 it could have copies.
type Product struct {
	Doc
	Embedding []float32 `dynamodbav:"embedding"`
}

// Products describes products without copies.
func Products() repo.Entity[Product] {
	return repo.Entity[Product]{Type: "PRODUCT", Version: "revision", Key: func(p Product) keys.Key { return Key("PRODUCT", p.ID) }}
}

// Mailbox returns what is derived of an e-mail.
func Mailbox(email string) string {
	box, _, _ := strings.Cut(email, "@")
	return box
}

// Key returns the key of an entity, EmailKey that of its copy, and AliasKey one of its claims.
func Key(of, id string) keys.Key {
	return keys.Key{PK: keys.Prefix(of).PK(id), SK: keys.Metadata}
}

// EmailKey is zero without an e-mail.
func EmailKey(of, email string) keys.Key {
	if email == "" {
		return keys.Key{}
	}
	return keys.Key{PK: keys.Prefix("EMAIL").PK(of, email), SK: keys.Metadata}
}

// AliasKey is zero without an alias.
func AliasKey(of, alias string) keys.Key {
	if alias == "" {
		return keys.Key{}
	}
	return keys.Key{PK: keys.Prefix("ALIAS").PK(of, alias), SK: keys.Metadata}
}

// Docs describes entities without upgrades: of types with one, those of the program before it.
func Docs(of string) repo.Entity[Doc] { return entity(of, func(d Doc) Doc { return d }) }

// Moved describes Moving entities whose main item is where the copy was, and the copy where
// the main item was.
func Moved() repo.Entity[Doc] {
	e := Docs(Moving)
	e.Key, e.Copies = e.Copies[0].Key, []repo.Copy[Doc]{{Name: "former main key", Key: e.Key}}
	return e
}

// Upgraded describes Grown, Shaped and Sealed entities with the upgrade.
func Upgraded(of string) repo.Entity[Boxed] {
	e := entity(of, func(b Boxed) Doc { return b.Doc })
	e.Upgrades = []repo.Upgrade{{Compatible: of != Sealed, Writes: []string{"mailbox"}, Change: func(item table.Item) error {
		if email, ok := item["email"].(*types.AttributeValueMemberS); ok {
			item["mailbox"] = &types.AttributeValueMemberS{Value: Mailbox(email.Value)}
		}
		return nil
	}}}
	return e
}

func entity[T any](of string, doc func(T) Doc) repo.Entity[T] {
	e := repo.Entity[T]{Type: of, Key: func(v T) keys.Key { return Key(of, doc(v).ID) }}
	switch of {
	case Plain:
		return e
	case Tally:
		e.Version = "version"
		return e
	case Grown:
		e.Version = "revision"
		return e
	case Counted:
		e.Version = "version"
	case Moving:
		e.Version = "revision"
		e.Copies = []repo.Copy[T]{{Name: "next", Key: func(v T) keys.Key { return Key("NEXT", doc(v).ID) }}}
	default:
		e.Version = "revision"
	}
	e.Claims = func(v T) []keys.Key {
		var claims []keys.Key
		for _, alias := range doc(v).Aliases {
			claims = append(claims, AliasKey(of, alias))
		}
		return claims
	}
	if of == Moving {
		return e
	}
	list := func(name string) func(T) keys.Key {
		return func(v T) keys.Key { return keys.Key{PK: keys.Prefix(name).PK(of), SK: keys.SK(doc(v).ID)} }
	}
	e.Indexes = repo.Indexes[T]{"GSI1": list("LIST")}
	e.Copies = []repo.Copy[T]{{
		Name: "by email", Indexes: repo.Indexes[T]{"GSI2": list("EMAILS")},
		Key: func(v T) keys.Key { return EmailKey(of, doc(v).Email) },
	}}
	return e
}
