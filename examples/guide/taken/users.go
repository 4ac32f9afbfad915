package taken

import (
	"context"
	"errors"
	"strings"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// User has an e-mail that is unique: true in OneTable.
type User struct {
	ID      string `dynamodbav:"id"`
	Email   string `dynamodbav:"email"`
	Name    string `dynamodbav:"name"`
	Updated int64  `dynamodbav:"updated"` // OneTable's time of the last write, in milliseconds
}

func userKey(id string) keys.Key { return keys.Key{PK: keys.PK("user#" + id), SK: "user#"} }

var users = repo.Entity[User]{
	Type: "User", Version: "updated",
	Key: func(u User) keys.Key { return userKey(u.ID) },
	Shared: &repo.Shared[User]{
		Unique: func(u User) []keys.Key {
			if u.Email == "" {
				return nil // or all users without one would share a key
			}
			return []keys.Key{{PK: keys.PK("_unique#User#email#" + u.Email), SK: "_unique#"}}
		},
		UniqueType: "_Unique",
	},
}

// ChangeEmail gives the former e-mail free.
func ChangeEmail(ctx context.Context, users *repo.Repo[User], id, email string) (User, error) {
	return users.Update(ctx, userKey(id), func(u *User) error {
		u.Email = email
		return nil
	})
}

var owned = repo.Entity[User]{
	Type: "User", Version: "updated",
	Key: func(u User) keys.Key { return userKey(u.ID) },
	Claims: func(u User) []keys.Key {
		if u.Email == "" {
			return nil
		}
		return []keys.Key{{PK: keys.Prefix("EMAIL").PK(u.Email), SK: keys.Metadata}}
	},
}

// TakeOver claims the e-mails of all users, then deletes OneTable's items for them.
func TakeOver(ctx context.Context, t *table.Table, users *repo.Repo[User]) error {
	claim := backfill.Job{Name: "claim e-mails", Table: t, Entities: []backfill.Entity{users}}
	report, err := claim.Run(ctx)
	if err == nil && report.SetAside > 0 {
		err = errors.New("two users have one e-mail: see backfill.SetAside")
	}
	if err != nil {
		return err
	}
	free := backfill.Job{Name: "delete _unique#User", Table: t, Map: func(_ context.Context, item table.Item) ([]table.Op, error) {
		key := t.KeyOf("", item)
		if !strings.HasPrefix(string(key.PK), "_unique#User#") {
			return nil, nil
		}
		return []table.Op{table.Delete(key).IfType("_Unique")}, nil
	}}
	_, err = free.Run(ctx)
	return err
}
