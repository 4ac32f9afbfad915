package peers_test

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

type authUser struct {
	ID    string  `dynamodbav:"id"`
	Name  string  `dynamodbav:"name"`
	Email string  `dynamodbav:"email"`
	Image *string `dynamodbav:"image"`
}

func authUserKey(id string) keys.Key {
	return keys.Key{PK: keys.PK("USER#" + id), SK: keys.SK("USER#" + id)}
}

var authUsers = repo.Entity[authUser]{
	Type: "USER", Shared: &repo.Shared[authUser]{},
	Key: func(u authUser) keys.Key { return authUserKey(u.ID) },
	Indexes: repo.Indexes[authUser]{"GSI1": func(u authUser) keys.Key {
		return keys.Key{PK: keys.PK("USER#" + u.Email), SK: keys.SK("USER#" + u.Email)}
	}},
}

type authSession struct {
	User    string    `dynamodbav:"userId"`
	Token   string    `dynamodbav:"sessionToken"`
	Expires time.Time `dynamodbav:"expires,unixtime"`
	Device  string    `dynamodbav:"device,omitempty"` // which this library alone writes
}

var authSessions = repo.Entity[authSession]{
	Type: "SESSION", Shared: &repo.Shared[authSession]{},
	Key: func(v authSession) keys.Key {
		return keys.Key{PK: keys.PK("USER#" + v.User), SK: keys.SK("SESSION#" + v.Token)}
	},
	Indexes: repo.Indexes[authSession]{"GSI1": func(v authSession) keys.Key {
		return keys.Key{PK: keys.PK("SESSION#" + v.Token), SK: keys.SK("SESSION#" + v.Token)}
	}},
}

// authAccount is an account of a user. Its type attribute is that of the provider.
type authAccount struct {
	User     string `dynamodbav:"userId"`
	Provider string `dynamodbav:"provider"`
	ID       string `dynamodbav:"providerAccountId"`
	OAuth    string `dynamodbav:"type"`
}

var authAccounts = repo.Entity[authAccount]{
	Type: "account", Shared: &repo.Shared[authAccount]{},
	Key: func(a authAccount) keys.Key {
		return keys.Key{PK: keys.PK("USER#" + a.User), SK: keys.SK("ACCOUNT#" + a.Provider + "#" + a.ID)}
	},
	Indexes: repo.Indexes[authAccount]{"GSI1": func(a authAccount) keys.Key {
		return keys.Key{PK: keys.PK("ACCOUNT#" + a.Provider), SK: keys.SK("ACCOUNT#" + a.ID)}
	}},
}

// authExpiry has a fraction of a second, as the expiries of sessions have.
var authExpiry = date("2099-01-01T00:00:00.600Z")

// signedUp has the peer create a user, and returns the id.
func signedUp(s *shop) string {
	s.Helper()
	id, _ := s.one("createUser", values{"name": "Ana", "email": ana, "image": nil})["id"].(string)
	return id
}

func (s *shop) authUsers() *repo.Repo[authUser] {
	s.Helper()
	return expect.Value(repo.New(s.table, authUsers))(s)
}

var authjs = &peer{
	name: "Auth.js", file: "authjs", pkg: "@auth/dynamodb-adapter",
	spec: model[authUser]{schema: schema.Table{
		TypeAttribute: "type", TTLAttribute: "expires", Indexes: []schema.Index{{Name: "GSI1", PK: "GSI1PK", SK: "GSI1SK"}},
		Kinds: []schema.Kind{{Type: "account", PK: "USER#", SK: "ACCOUNT#"}},
	}}.spec(),
	rows: []row{
		{usual: true, call: "`Get`, and a query of the index, of its user", holds: "the same user", see: func(s *shop, _ *peer) string {
			id := signedUp(s)
			want := authUser{ID: id, Name: "Ana", Email: ana}
			page := expect.Value(s.authUsers().Query(s.Context(), table.Query{Index: "GSI1", PK: keys.PK("USER#" + ana)}))(s)
			expect.Equal(s, "Get", expect.Value(s.authUsers().Get(s.Context(), authUserKey(id)))(s), want)
			return or(cmp.Diff([]authUser{want}, page.Items), "the same user")
		}},
		{usual: true, call: "its getUser and getUserByEmail of what `Create` has stored", holds: "the same user", see: func(s *shop, _ *peer) string {
			expect.OK(s, s.authUsers().Create(s.Context(), &authUser{ID: "u-1", Name: "Ana", Email: ana}))
			byID, byEmail := s.one("getUser", "u-1"), s.one("getUserByEmail", ana)
			expect.Equal(s, "by e-mail", byEmail, byID)
			return fmt.Sprintf("the %s user", map[bool]string{true: "same"}[byID["name"] == "Ana" && byID["email"] == ana])
		}},
		{usual: true, call: "its user after `Update`", holds: "the same user, and all that the Go type lacks", see: func(s *shop, _ *peer) string {
			id := signedUp(s)
			before := s.one("getUser", id)
			_, err := s.authUsers().Update(s.Context(), authUserKey(id), func(u *authUser) error { u.Name = "Ana Lima"; return nil })
			expect.OK(s, err)
			after := s.one("getUserByEmail", ana)
			return or(cmp.Diff(before.with(values{"name": "Ana Lima"}), after), "the same user, and all that the Go type lacks")
		}},
		{usual: true, call: "the attributes of the user in its getSessionAndUser after `Update`", holds: "those that it has written", see: func(s *shop, _ *peer) string {
			id := signedUp(s)
			s.call("createSession", values{"sessionToken": "t", "userId": id, "expires": authExpiry})
			before := s.one("getSessionAndUser", "t")["user"]
			expect.OK(s, expect.ErrOf(s.authUsers().Update(s.Context(), authUserKey(id), func(u *authUser) error { u.Name = "Ana Lima"; return nil })))
			after, _ := s.one("getSessionAndUser", "t")["user"].(map[string]any)
			after["name"] = "Ana"
			return or(cmp.Diff(before, any(after)), "those that it has written")
		}},
		{usual: true, call: "`Query` of its sessions, with a `time.Time`", holds: "2 sessions", see: func(s *shop, _ *peer) string { return sessions[authSession](s) }},
		{
			call: "`Query` of its sessions, with an `int64`", holds: "an error for all of them",
			see: func(s *shop, _ *peer) string {
				return sessions[struct {
					Expires int64 `dynamodbav:"expires"`
				}](s)
			},
		},
		{
			call: "`Query` of its sessions, with a `float64`", holds: "2 sessions",
			see: func(s *shop, _ *peer) string {
				return sessions[struct {
					Expires float64 `dynamodbav:"expires"`
				}](s)
			},
		},
		{call: "its session of 00:00:00.600, with a `time.Time`, after `Update`, and after `Delete`", holds: "expires 2099-01-01T00:00:00.600Z, then none", see: updatedSession},
		{usual: true, call: "its getSessionAndUser of what `Create` has stored", holds: "found, expires 2099-01-01T00:00:00.000Z", see: func(s *shop, _ *peer) string {
			id := signedUp(s)
			all := expect.Value(repo.New(s.table, authSessions))(s)
			expect.OK(s, all.Create(s.Context(), &authSession{User: id, Token: "t", Expires: time.Unix(4070908800, 0)}))
			return "found, " + sessionThere(s)
		}},
		{usual: true, call: "`Query` of its accounts of several types, as a kind", holds: "[oauth oidc]", see: func(s *shop, _ *peer) string {
			id := linked(s)
			all := expect.Value(repo.New(s.table, authAccounts))(s)
			page := expect.Value(all.Query(s.Context(), table.Query{PK: keys.PK("USER#" + id), Range: keys.Range{Prefix: "ACCOUNT#"}}))(s)
			var types []string
			for _, a := range page.Items {
				types = append(types, a.OAuth)
			}
			return fmt.Sprint(types)
		}},
		{usual: true, call: "`Collect` of its user with the accounts and a session", holds: "1 user, 2 accounts, 1 session", see: func(s *shop, _ *peer) string {
			id := linked(s)
			s.call("createSession", values{"sessionToken": "t", "userId": id, "expires": authExpiry})
			var us []authUser
			var as []authAccount
			var ss []authSession
			accounts, all := expect.Value(repo.New(s.table, authAccounts))(s), expect.Value(repo.New(s.table, authSessions))(s)
			expect.OK(s, repo.Collect(s.Context(), s.table, table.Query{PK: keys.PK("USER#" + id)}, s.authUsers().AppendTo(&us), accounts.AppendTo(&as), all.AppendTo(&ss)))
			return fmt.Sprintf("%d user, %d accounts, %d session", len(us), len(as), len(ss))
		}},
		{usual: true, call: "its getUserByAccount of an account of `Create`, and after `Delete`", holds: "the user, then nobody", see: func(s *shop, _ *peer) string {
			id, by := signedUp(s), values{"provider": "oidc", "providerAccountId": "7"}
			all, account := expect.Value(repo.New(s.table, authAccounts))(s), authAccount{id, "oidc", "7", "oidc"}
			expect.OK(s, all.Create(s.Context(), &account))
			expect.Equal(s, "getUserByAccount", s.one("getUserByAccount", by)["id"], any(id))
			expect.OK(s, all.Delete(s.Context(), authAccounts.Key(account)))
			if s.one("getUserByAccount", by) == nil {
				return "the user, then nobody"
			}
			return "the user still"
		}},
		{call: "its getUserByEmail after its updateUser of the e-mail", holds: "found by the former one only", see: func(s *shop, _ *peer) string {
			id := signedUp(s)
			s.call("updateUser", values{"id": id, "email": bob})
			if s.one("getUserByEmail", bob) == nil && s.one("getUserByEmail", ana)["email"] == bob {
				return "found by the former one only"
			}
			return "found by the new one"
		}},
		{usual: true, call: "its getUserByEmail after `Update` of the e-mail", holds: "found by the new one", see: func(s *shop, _ *peer) string {
			id := signedUp(s)
			_, err := s.authUsers().Update(s.Context(), authUserKey(id), func(u *authUser) error { u.Email = bob; return nil })
			expect.OK(s, err)
			if s.one("getUserByEmail", bob) != nil && s.one("getUserByEmail", ana) == nil {
				return "found by the new one"
			}
			return "not found by it"
		}},
		{usual: true, call: "its deleteUser, of a user with a session of `Create`", holds: "0 items are left", see: func(s *shop, _ *peer) string {
			id := signedUp(s)
			all := expect.Value(repo.New(s.table, authSessions))(s)
			expect.OK(s, all.Create(s.Context(), &authSession{User: id, Token: "t", Expires: time.Unix(4070908800, 0)}))
			s.call("deleteUser", id)
			return fmt.Sprintf("%d items are left", len(s.scan()))
		}},
		{usual: true, call: "its updateUser of the same attribute between the read and the write of `Update`", holds: "kept", see: func(s *shop, _ *peer) string {
			return userRace(s, values{"name": "Ana L."})
		}},
		{usual: true, call: "its updateUser of another attribute", holds: "kept", see: func(s *shop, _ *peer) string {
			return userRace(s, values{"image": "ana.png"})
		}},
	},
}

// sessions reads two sessions of the peer, one of them with an expiry in whole seconds.
func sessions[T any](s *shop) string {
	id := signedUp(s)
	s.call("createSession", values{"sessionToken": "t", "userId": id, "expires": authExpiry})
	s.call("createSession", values{"sessionToken": "u", "userId": id, "expires": date("2099-01-01T00:00:00.000Z")})
	key := func(T) keys.Key { return keys.Key{PK: "USER#", SK: "SESSION#"} } // nothing is written
	all := expect.Value(repo.New(s.table, repo.Entity[T]{Type: "SESSION", Key: key}))(s)
	page, err := all.Query(s.Context(), table.Query{PK: keys.PK("USER#" + id), Range: keys.Range{Prefix: "SESSION#"}})
	if err != nil {
		return "an error for all of them"
	}
	return fmt.Sprintf("%d sessions", len(page.Items))
}

// updatedSession sees the session of the peer after an Update of what the peer does not know.
func updatedSession(s *shop, _ *peer) string {
	id := signedUp(s)
	s.call("createSession", values{"sessionToken": "t", "userId": id, "expires": authExpiry})
	all, key := expect.Value(repo.New(s.table, authSessions))(s), authSessions.Key(authSession{User: id, Token: "t"})
	expect.OK(s, expect.ErrOf(all.Update(s.Context(), key, func(v *authSession) error { v.Device = "phone"; return nil })))
	updated := sessionThere(s)
	expect.OK(s, all.Delete(s.Context(), key))
	return updated + ", then " + sessionThere(s)
}

// sessionThere says when the session t expires for the peer.
func sessionThere(s *shop) string {
	s.Helper()
	session, ok := s.one("getSessionAndUser", "t")["session"].(map[string]any)
	if !ok {
		return "none"
	}
	return fmt.Sprintf("expires %v", session["expires"].(map[string]any)["$date"])
}

// linked has the peer create a user with two accounts, and returns the id.
func linked(s *shop) string {
	s.Helper()
	id := signedUp(s)
	for _, typ := range []string{"oauth", "oidc"} {
		s.call("linkAccount", values{"userId": id, "type": typ, "provider": typ, "providerAccountId": "7"})
	}
	return id
}

// userRace has the peer change a user between the read and the write of an Update of the name.
func userRace(s *shop, set values) string {
	return s.inBoth(func(below bool) string {
		id := signedUp(s)
		meanwhile := s.meanwhile(below, "UpdateItem", func() { s.call("updateUser", values{"id": id}.with(set)) })
		expect.OK(s, expect.ErrOf(s.authUsers().Update(s.Context(), authUserKey(id), func(u *authUser) error {
			meanwhile()
			u.Name += " Lima"
			return nil
		})))
		got := s.one("getUser", id)
		return keptIf(got["name"] == "Ana L. Lima" || got["name"] == "Ana Lima" && got["image"] == "ana.png")
	})
}
