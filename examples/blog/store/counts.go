package store

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// countsSK is the sort key of the counts of a post, a user or a group.
const countsSK keys.SK = "COUNTS"

// The attributes that count. Each is the name of the op that changes it, too.
const (
	commentCount = "commentCount"
	groupCount   = "groupCount"
	memberCount  = "memberCount"
	postCount    = "postCount"
)

// Counts are the comments of a post, the posts and groups of a user, or the members of a
// group. They are stored once, as <partition of the owner> / COUNTS, apart from the
// owner: counting does not meet the owner's version, rewrite its size, or write the
// indexes that it is in.
//
// A count changes in the transaction that creates or deletes what it counts.
type Counts struct {
	Of       keys.PK `dynamodbav:"of"` // partition of the owner
	Comments int64   `dynamodbav:"commentCount"`
	Groups   int64   `dynamodbav:"groupCount"`
	Members  int64   `dynamodbav:"memberCount"`
	Posts    int64   `dynamodbav:"postCount"`
	// Changes counts the changes of the counts, for [Store.recount].
	Changes int64 `dynamodbav:"changes"`
}

var countsEntity = repo.Entity[Counts]{
	Type: "COUNTS",
	Key:  func(c Counts) keys.Key { return countsKey(c.Of) },
}

func countsKey(of keys.PK) keys.Key { return keys.Key{PK: of, SK: countsSK} }

// count changes one count.
func count(of keys.PK, attribute string, by int) table.Op {
	return changeCounts(of, expression.Add(expression.Name(attribute), expression.Value(by))).WithName(attribute)
}

func changeCounts(of keys.PK, change expression.UpdateBuilder) table.Op {
	return table.Update(countsKey(of), change.
		Add(expression.Name("changes"), expression.Value(1)).
		Set(expression.Name("of"), expression.Value(of)).
		Set(expression.Name("entityType"), expression.Value(countsEntity.Type)))
}

// UserCounts returns how many posts and groups a user has.
func (s *Store) UserCounts(ctx context.Context, user string) (Counts, error) {
	return s.counts(ctx, keys.User.PK(user))
}

// counts reads the counts of an owner, all 0 if nothing was counted.
func (s *Store) counts(ctx context.Context, of keys.PK) (Counts, error) {
	c, err := s.Counts.Consistent().Get(ctx, countsKey(of))
	if errors.Is(err, table.ErrNotFound) {
		return Counts{Of: of}, nil
	}
	return c, err
}

// RecountPost counts the comments of a post again. Counts go wrong only by
// writes that are not the store's, such as those of a migration.
//
// A recount is right also while others write: it is stored only if nothing was counted
// since before it began, and is repeated otherwise. If others never pause, the error
// matches [table.ErrConflict] and the count stays as it was. If there is no post, it
// matches [table.ErrNotFound].
func (s *Store) RecountPost(ctx context.Context, post string) error {
	return s.recount(ctx, PostKey(post), commentCount, CommentsQuery(post))
}

// RecountUser counts the posts and the groups of a user again, as
// [Store.RecountPost] does.
func (s *Store) RecountUser(ctx context.Context, user string) error {
	return errors.Join(
		s.recount(ctx, UserKey(user), postCount, PostsQuery(user)),
		s.recount(ctx, UserKey(user), groupCount, GroupsQuery(user)))
}

// RecountGroup counts the members of a group again, as [Store.RecountPost]
// does.
func (s *Store) RecountGroup(ctx context.Context, group string) error {
	return s.recount(ctx, GroupKey(group), memberCount, MembersQuery(group))
}

func (s *Store) recount(ctx context.Context, owner keys.Key, attribute string, q table.Query) error {
	q.Project = []string{"entityType"}
	return s.Table.Retry(ctx, func(ctx context.Context) error {
		before, err := s.counts(ctx, owner.PK)
		if err != nil {
			return err
		}
		n := 0
		for _, err := range table.All[table.Item](ctx, s.Table.Consistent(), q) {
			if err != nil {
				return err
			}
			n++
		}
		unchanged := table.If("changes = ?", before.Changes)
		if before.Changes == 0 {
			unchanged = table.If("attribute_not_exists(changes)")
		}
		err = s.Table.Transact(ctx,
			changeCounts(owner.PK, expression.Set(expression.Name(attribute), expression.Value(n))).If(unchanged).WithName(attribute),
			table.Check(owner, exists()).WithName("owner"))
		switch {
		case failed(err, "owner"):
			return table.ErrNotFound
		case failed(err, attribute):
			return table.ErrConflict
		}
		return err
	})
}
