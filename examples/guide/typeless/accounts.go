package typeless

import (
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
)

// AuthSchema is the table of Auth.js. Its attribute type is one of data: that of an account is
// oauth, oidc, email or another one.
var AuthSchema = schema.Table{
	Name: "next-auth", TTLAttribute: "expires",
	Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}},
	Kinds: []schema.Kind{
		{Type: "USER", PK: "USER#", SK: "USER#"},
		{Type: "ACCOUNT", PK: "USER#", SK: "ACCOUNT#"},
		{Type: "SESSION", PK: "USER#", SK: "SESSION#"},
	},
}

// User can sign in.
type User struct {
	ID    string `dynamodbav:"id"`
	Name  string `dynamodbav:"name"`
	Email string `dynamodbav:"email"`
}

var userEntity = repo.Entity[User]{
	Type: "USER",
	Key:  func(u User) keys.Key { return keys.Key{PK: keys.PK("USER#" + u.ID), SK: keys.SK("USER#" + u.ID)} },
	Indexes: repo.Indexes[User]{"GSI1": func(u User) keys.Key {
		return keys.Key{PK: keys.PK("USER#" + u.Email), SK: keys.SK("USER#" + u.Email)}
	}},
	Shared: &repo.Shared[User]{Constants: map[string]string{"type": "USER"}},
}

// Account is a user's account at a provider.
type Account struct {
	User     string `dynamodbav:"userId"`
	Type     string `dynamodbav:"type"`
	Provider string `dynamodbav:"provider"`
	ID       string `dynamodbav:"providerAccountId"`
}

var accountEntity = repo.Entity[Account]{
	Type: "ACCOUNT",
	Key: func(a Account) keys.Key {
		return keys.Key{PK: keys.PK("USER#" + a.User), SK: keys.SK("ACCOUNT#" + a.Provider + "#" + a.ID)}
	},
	Indexes: repo.Indexes[Account]{"GSI1": func(a Account) keys.Key {
		return keys.Key{PK: keys.PK("ACCOUNT#" + a.Provider), SK: keys.SK("ACCOUNT#" + a.ID)}
	}},
	Shared: &repo.Shared[Account]{},
}
