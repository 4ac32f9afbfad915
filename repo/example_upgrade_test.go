package repo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// Member is an entity of a club in its first release.
type Member struct {
	ID       string `dynamodbav:"memberId"`
	Name     string `dynamodbav:"name"`
	Since    string `dynamodbav:"since"`
	Fax      string `dynamodbav:"fax"`
	Revision string `dynamodbav:"revision"`
}

func memberKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("MEMBER").PK(id), SK: keys.Profile}
}

var memberEntity = repo.Entity[Member]{
	Type: "MEMBER", Version: "revision",
	Key: func(m Member) keys.Key { return memberKey(m.ID) },
}

// openClub returns a new table with a member that the first release has stored.
func openClub(ctx context.Context) (*table.Table, *tabletest.Engine) {
	engine, err := tabletest.Start(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	spec := schema.Table{Name: "Club-" + rand.Text()}
	if err := spec.Ensure(ctx, engine.Client()); err != nil {
		log.Fatal(err)
	}
	tbl, err := table.New(engine.Client(), spec, nil)
	if err != nil {
		log.Fatal(err)
	}
	members, err := repo.New(tbl, memberEntity)
	if err != nil {
		log.Fatal(err)
	}
	if err := members.Create(ctx, &Member{ID: "m-1", Name: "Ana Lima", Since: "2019", Fax: "555"}); err != nil {
		log.Fatal(err)
	}
	return tbl, engine
}

// The second release renames an attribute, splits it, changes the type of another,
// adds one and drops one. It reads what the first one has stored.
func ExampleUpgrade() {
	ctx := context.Background()
	tbl, engine := openClub(ctx)
	defer engine.Close()

	type Member struct {
		ID       string `dynamodbav:"memberId"`
		First    string `dynamodbav:"firstName"`
		Last     string `dynamodbav:"lastName"`
		Since    int    `dynamodbav:"since"`
		Level    string `dynamodbav:"level"`
		Revision string `dynamodbav:"revision"`
	}
	split := repo.Upgrade{
		Writes: []string{"firstName", "lastName"}, Removes: []string{"name"},
		Change: func(item table.Item) error {
			name, ok := item["name"].(*types.AttributeValueMemberS)
			if !ok {
				return errors.New("the name is no string")
			}
			first, last, _ := strings.Cut(name.Value, " ")
			item["firstName"] = &types.AttributeValueMemberS{Value: first}
			item["lastName"] = &types.AttributeValueMemberS{Value: last}
			delete(item, "name")
			return nil
		},
	}
	members, err := repo.New(tbl, repo.Entity[Member]{
		Type: "MEMBER", Version: "revision",
		Key: func(m Member) keys.Key { return memberKey(m.ID) },
		Upgrades: []repo.Upgrade{
			split,
			repo.Convert("since", "since", strconv.Atoi),
			repo.Default("level", "silver"),
			repo.Drop("fax"),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	m, err := members.Get(ctx, memberKey("m-1"))
	fmt.Println(m.First, m.Last, m.Since, m.Level, err)

	// The next write stores it.
	m, err = members.Update(ctx, memberKey("m-1"), func(m *Member) error { m.Level = "gold"; return nil })
	fmt.Println(m.Level, err)
	stored, err := table.Get[table.Item](ctx, tbl.Consistent(), memberKey("m-1"))
	fmt.Println(slices.Sorted(maps.Keys(stored)), err)
	fmt.Println("shape", stored["entityShape"].(*types.AttributeValueMemberN).Value)

	// The first release cannot read it any more, and cannot do harm.
	old, err := repo.New(tbl, memberEntity)
	if err != nil {
		log.Fatal(err)
	}
	_, err = old.Get(ctx, memberKey("m-1"))
	fmt.Println(errors.Is(err, table.ErrNewerShape))
	fmt.Println(errors.Is(old.Delete(ctx, memberKey("m-1")), table.ErrNewerShape))
	// Output:
	// Ana Lima 2019 silver <nil>
	// gold <nil>
	// [entityShape entityType firstName lastName level memberId pk revision since sk] <nil>
	// shape 4
	// true
	// true
}

// Releases that must run side by side take compatible upgrades only.
func ExampleDefault() {
	ctx := context.Background()
	tbl, engine := openClub(ctx)
	defer engine.Close()

	type Member2 struct {
		ID       string `dynamodbav:"memberId"`
		Name     string `dynamodbav:"name"`
		Since    string `dynamodbav:"since"`
		Level    string `dynamodbav:"level"`
		Revision string `dynamodbav:"revision"`
	}
	withoutFax := repo.Drop("fax")
	withoutFax.Compatible = true // the first release can do without
	entity := repo.Entity[Member2]{
		Type: "MEMBER", Version: "revision",
		Key:      func(m Member2) keys.Key { return memberKey(m.ID) },
		Upgrades: []repo.Upgrade{repo.Default("level", "silver"), withoutFax},
	}
	members, err := repo.New(tbl, entity)
	if err != nil {
		log.Fatal(err)
	}
	_, err = members.Update(ctx, memberKey("m-1"), func(m *Member2) error { m.Level = "gold"; return nil })
	fmt.Println(err)
	old, err := repo.New(tbl, memberEntity)
	if err != nil {
		log.Fatal(err)
	}
	_, err = old.Update(ctx, memberKey("m-1"), func(m *Member) error { m.Name = "Ana Sosa"; return nil })
	fmt.Println(err)
	m, err := members.Get(ctx, memberKey("m-1"))
	fmt.Println(m.Name, m.Level, err)

	// When all items have the present shape, the upgrades can go. This one was written by the
	// first release since.
	changed, err := members.Refresh(ctx, memberKey("m-1"))
	fmt.Println("had to be written:", changed, err)
	entity.OldestShape, entity.Upgrades = 2, nil
	if members, err = repo.New(tbl, entity); err != nil {
		log.Fatal(err)
	}
	m, err = members.Get(ctx, memberKey("m-1"))
	fmt.Println(members.Types(), m.Level, err)
	// An item that was missed is refused, not misread.
	if err := old.Create(ctx, &Member{ID: "m-2"}); err != nil {
		log.Fatal(err)
	}
	_, err = members.Get(ctx, memberKey("m-2"))
	fmt.Println(errors.Is(err, repo.ErrUpgrade))
	// Output:
	// <nil>
	// <nil>
	// Ana Sosa gold <nil>
	// had to be written: true <nil>
	// [MEMBER] gold <nil>
	// true
}

// A reader that takes a table takes the view of the repository.
func ExampleRename() {
	ctx := context.Background()
	tbl, engine := openClub(ctx)
	defer engine.Close()

	type Member struct {
		ID       string `dynamodbav:"memberId"`
		FullName string `dynamodbav:"fullName"`
		Revision string `dynamodbav:"revision"`
	}
	members, err := repo.New(tbl, repo.Entity[Member]{
		Type: "MEMBER", Version: "revision",
		Key:      func(m Member) keys.Key { return memberKey(m.ID) },
		Upgrades: []repo.Upgrade{repo.Rename("name", "fullName")},
	})
	if err != nil {
		log.Fatal(err)
	}
	page, err := table.ScanPage[Member](ctx, members.View(), table.Scan{})
	fmt.Println(page.Items[0].FullName, err)
	// Output:
	// Ana Lima <nil>
}

// The club no longer keeps its members under their year.
func ExampleRepo_RefreshOps() {
	ctx := context.Background()
	tbl, engine := openClub(ctx)
	defer engine.Close()

	byYear := func(m Member) keys.Key { return keys.Key{PK: keys.Prefix("YEAR").PK(m.Since), SK: keys.SK(m.ID)} }
	entity := memberEntity
	entity.Copies = []repo.Copy[Member]{{Name: "by year", Key: byYear}}
	members, err := repo.New(tbl, entity)
	if err != nil {
		log.Fatal(err)
	}
	_, err = members.Refresh(ctx, memberKey("m-1")) // stores the copy that is new
	fmt.Println(err)

	entity.Copies, entity.FormerCopies = nil, []func(Member) keys.Key{byYear}
	if members, err = repo.New(tbl, entity); err != nil {
		log.Fatal(err)
	}
	for page, err := range table.All[table.Item](ctx, tbl.Consistent(), table.Query{PK: "YEAR#2019"}) {
		if err != nil {
			log.Fatal(err)
		}
		ops, err := members.RefreshOps(ctx, page)
		fmt.Println(len(ops), ops[0].Verb(), err)
		fmt.Println(tbl.Transact(ctx, ops...))
	}
	m, err := members.Consistent().Get(ctx, memberKey("m-1"))
	fmt.Println(m.Name, err)
	// Output:
	// <nil>
	// 2 Delete <nil>
	// <nil>
	// Ana Lima <nil>
}

// A file for an import holds the items of a member as they are to be stored.
func ExampleRepo_RefreshItems() {
	ctx := context.Background()
	tbl, engine := openClub(ctx)
	defer engine.Close()

	entity := memberEntity
	entity.Copies = []repo.Copy[Member]{{Name: "by year", Key: func(m Member) keys.Key {
		return keys.Key{PK: keys.Prefix("YEAR").PK(m.Since), SK: keys.SK(m.ID)}
	}}}
	members, err := repo.New(tbl, entity)
	if err != nil {
		log.Fatal(err)
	}
	stored, err := table.Get[table.Item](ctx, tbl, memberKey("m-1"))
	if err != nil {
		log.Fatal(err)
	}
	items, err := members.RefreshItems(stored)
	for _, item := range items {
		fmt.Println(tbl.KeyOf("", item).PK, tbl.CheckItem(item))
	}
	fmt.Println(err)
	// Output:
	// MEMBER#m-1 <nil>
	// YEAR#2019 <nil>
	// <nil>
}
