package repotest_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/repo/repotest"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A Memo is what the first release stores, and a Letter what the second one does.
type Memo struct {
	ID       string `dynamodbav:"memoId"`
	Title    string `dynamodbav:"title"`
	Revision string `dynamodbav:"revision"`
}

type Letter struct {
	ID       string `dynamodbav:"memoId"`
	Name     string `dynamodbav:"name"`
	Revision string `dynamodbav:"revision"`
}

func memoKey(id string) keys.Key { return keys.Key{PK: keys.Prefix("MEMO").PK(id), SK: keys.Metadata} }

// printing stands for a test of the program, and prints what fails.
type printing struct{ testing.TB }

func (printing) Helper()                           {}
func (printing) Errorf(format string, args ...any) { fmt.Printf(format[4:]+"\n", args[1:]...) }

func newTable() (*table.Table, func()) {
	engine, err := tabletest.Start(context.Background(), nil)
	check(err)
	spec := schema.Table{Name: "Memos-" + rand.Text()}
	check(spec.Ensure(context.Background(), engine.Client()))
	tbl, err := table.New(engine.Client(), spec, nil)
	check(err)
	return tbl, func() { check(engine.Close()) }
}

func ExampleGolden() {
	tbl, done := newTable()
	defer done()
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "stored.json") // testdata/stored.json of a program

	memos, err := repo.New(tbl, repo.Entity[Memo]{
		Type: "MEMO", Version: "revision", Key: func(m Memo) keys.Key { return memoKey(m.ID) },
	})
	check(err)
	var t printing // the *testing.T of a test
	repotest.Golden(t, file, true, memos.Form())

	letters, err := repo.New(tbl, repo.Entity[Letter]{
		Type: "MEMO", Version: "revision", Key: func(m Letter) keys.Key { return memoKey(m.ID) },
	})
	check(err)
	repotest.Golden(t, file, false, letters.Form())
	// Output: MEMO: attribute title is gone, and name is new: add to Upgrades: repo.Rename("title", "name"), or repo.Drop("title") if they have nothing in common. docs/change-your-table.md#attribute-renamed has a way in which both releases work.
}

func ExampleModel() {
	tbl, done := newTable()
	defer done()
	memos, err := repo.New(tbl, repo.Entity[Memo]{
		Type: "MEMO", Version: "revision", Key: func(m Memo) keys.Key { return memoKey(m.ID) },
	})
	check(err)
	model, err := repotest.Model(schema.Table{Name: "Memos"}, nil, memos.Form())
	check(err)
	for _, e := range model.Entities {
		fmt.Println(e.Type, e.Version, e.Items[0].PK, e.Items[0].SK, e.Source)
	}
	// Output: MEMO revision MEMO#{memoId} METADATA program
}
