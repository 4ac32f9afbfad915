package conformance

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// person1 is an entity as the first release knows it, stored under its id and
// under its e-mail.
type person1 struct {
	ID       string  `dynamodbav:"id"`
	Email    string  `dynamodbav:"email"`
	Name     string  `dynamodbav:"name,omitempty"`
	Address  address `dynamodbav:"address"`
	Revision string  `dynamodbav:"revision"`
}

type address struct {
	City string `dynamodbav:"city,omitempty"`
	Zip  string `dynamodbav:"zip,omitempty"`
}

// person2 is the same entity in the second release, which has a currency, lists
// people by it in an index, and stores them under their phone as well, if they
// have one.
type person2 struct {
	person1Fields
	Currency string `dynamodbav:"currency,omitempty"`
	Phone    string `dynamodbav:"phone,omitempty"`
}

// person1Fields are the fields of person1, for embedding.
type person1Fields struct {
	ID       string  `dynamodbav:"id"`
	Email    string  `dynamodbav:"email"`
	Name     string  `dynamodbav:"name,omitempty"`
	Address  address `dynamodbav:"address"`
	Revision string  `dynamodbav:"revision"`
}

const personType = "PERSON"

func mailKey(email string) keys.Key {
	return keys.Key{PK: keys.Prefix("EMAIL").PK(email), SK: keys.Metadata}
}

func phoneKey(phone string) keys.Key {
	if phone == "" {
		return keys.Key{}
	}
	return keys.Key{PK: keys.Prefix("PHONE").PK(phone), SK: keys.Metadata}
}

func currencyKey(currency, id string) keys.Key {
	if currency == "" {
		return keys.Key{}
	}
	return keys.Key{PK: keys.Prefix("CURRENCY").PK(currency), SK: keys.User.SK(keys.Str(id))}
}

var (
	person1Entity = repo.Entity[person1]{
		Type:    personType,
		Key:     func(p person1) keys.Key { return accountKey(p.ID) },
		Copies:  []repo.Copy[person1]{{Name: "by email", Key: func(p person1) keys.Key { return mailKey(p.Email) }}},
		Version: "revision",
	}
	person2Entity = repo.Entity[person2]{
		Type:    personType,
		Key:     func(p person2) keys.Key { return accountKey(p.ID) },
		Indexes: repo.Indexes[person2]{"GSI1": func(p person2) keys.Key { return currencyKey(p.Currency, p.ID) }},
		Copies: []repo.Copy[person2]{
			{Name: "by email", Key: func(p person2) keys.Key { return mailKey(p.Email) }},
			{Name: "by phone", Key: func(p person2) keys.Key { return phoneKey(p.Phone) }},
		},
		Version: "revision",
	}
)

// raw returns an item as it is stored, nil if it is missing.
func raw(t *testing.T, tbl *table.Table, key keys.Key) table.Item {
	t.Helper()
	item, err := table.Get[table.Item](t.Context(), tbl.Consistent(), key)
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	must(t, err)
	return item
}

// patched changes attributes of an item behind the back of its entity.
func patched(t *testing.T, tbl *table.Table, key keys.Key, set table.Item, remove ...string) {
	t.Helper()
	must(t, tbl.Do(t.Context(), table.Patch(key, set, remove...).IfExists()))
}

func mapOf(members table.Item) types.AttributeValue {
	return &types.AttributeValueMemberM{Value: members}
}
