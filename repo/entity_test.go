package repo_test

import (
	"errors"
	"testing"

	"github.com/singletable/singletable/internal/suites/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

func TestNewListsEveryProblemOfAnEntity(t *testing.T) {
	t.Parallel()
	tbl, _ := unsent(t)
	key := func(User) keys.Key { return keys.Key{} }
	for name, test := range map[string]struct {
		entity repo.Entity[User]
		want   []string
	}{
		"zero": {
			repo.Entity[User]{},
			[]string{"Type: is empty", "Key: is nil"},
		},
		"copy without key": {
			repo.Entity[User]{Type: "USER", Key: key, Copies: []repo.Copy[User]{{}}},
			[]string{"Copies[0].Key: is nil", "Copies: need a Version, or they would drift apart"},
		},
		"indexes": {
			repo.Entity[User]{
				Type: "USER", Key: key,
				Indexes: repo.Indexes[User]{"GSI1": key, "GSI2": nil, "GSI9": key},
				Copies:  []repo.Copy[User]{{Name: "by mail", Key: key, Indexes: repo.Indexes[User]{"GSI1": key}}},
			},
			[]string{
				`Indexes["GSI2"]: is nil`,
				`Indexes: the schema has no index "GSI9"`,
				`Indexes: "GSI1" is on USER and on USER by mail, and a query of it would return the entity twice`,
				"Copies: need a Version, or they would drift apart",
			},
		},
		"version that is the expiry": {
			repo.Entity[User]{Type: "USER", Key: key, Version: "expiresAt"},
			[]string{`Version: attribute "expiresAt" has another use in the schema`},
		},
		"version without a field": {
			repo.Entity[User]{Type: "USER", Key: key, Version: "rev"},
			[]string{`Version: repo_test.User has no string or integer field for attribute "rev"`},
		},
	} {
		_, err := repo.New(tbl, test.entity)
		invalid, ok := errors.AsType[*repo.EntityError](err)
		if !ok || !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		expect.Equal(t, name, invalid.Problems, test.want)
	}
	if _, err := repo.New(nil, userEntity); !errors.Is(err, table.ErrInvalid) {
		t.Errorf("nil table: %v", err)
	}
	// A revision behind a pointer would be shared with the values that v is copied to.
	type shared struct {
		Revision *string `dynamodbav:"revision"`
	}
	if _, err := repo.New(tbl, repo.Entity[shared]{Type: "SHARED", Key: func(shared) keys.Key { return keys.Key{} }, Version: "revision"}); !errors.Is(err, table.ErrInvalid) {
		t.Errorf("a revision behind a pointer: %v", err)
	}
	if _, err := repo.New(tbl, repo.Entity[*User]{Type: "USER", Key: func(*User) keys.Key { return keys.Key{} }}); !errors.Is(err, table.ErrInvalid) {
		t.Errorf("an entity of pointers: %v", err)
	}
	if _, err := repo.New(tbl, repo.Entity[string]{Type: "TEXT", Key: func(string) keys.Key { return keys.Key{} }, Version: "v"}); !errors.Is(err, table.ErrInvalid) {
		t.Errorf("a version in a string: %v", err)
	}
}
