package backfill_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/backfill"
	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

type member struct {
	ID       string `dynamodbav:"id"`
	Email    string `dynamodbav:"email"`
	Years    int    `dynamodbav:"years"`
	Revision string `dynamodbav:"revision"`
}

func metadata(prefix keys.Prefix, id string) keys.Key {
	return keys.Key{PK: prefix.PK(id), SK: keys.Metadata}
}

var memberEntity = repo.Entity[member]{
	Type: "MEMBER", Version: "revision",
	Key: func(m member) keys.Key { return metadata("MEMBER", m.ID) },
	Indexes: repo.Indexes[member]{"GSI1": func(m member) keys.Key {
		return keys.Key{PK: "MEMBERS", SK: keys.Prefix("YEARS").SK(keys.Str(strconv.Itoa(m.Years)))}
	}},
	Copies: []repo.Copy[member]{{Key: func(m member) keys.Key {
		if m.Email == "" {
			return keys.Key{}
		}
		return metadata("EMAIL", m.Email)
	}}},
	FormerCopies: []func(member) keys.Key{func(m member) keys.Key { return metadata("PHONE", m.ID) }},
	Upgrades: []repo.Upgrade{repo.Convert("years", "years", func(years string) (int, error) {
		n, _, _ := strings.Cut(years, " ")
		return strconv.Atoi(n)
	})},
}

// newTransfer returns a transfer of members to a table that nobody reaches.
func newTransfer(tb testing.TB) *backfill.Transfer {
	tb.Helper()
	spec := schema.Table{Name: "Members", TTLAttribute: "expiresAt", Indexes: []schema.Index{
		{Name: "GSI1", PK: "gsi1pk", SK: "gsi1sk"}, {Name: "GSI2", PK: "gsi2pk"},
	}}
	tbl := expect.Value(table.New(dynamodb.New(dynamodb.Options{Region: "us-east-1"}), spec, nil))(tb)
	return &backfill.Transfer{Table: tbl, Entities: []backfill.Entity{expect.Value(repo.New(tbl, memberEntity))(tb)}}
}

func export(tb testing.TB) []byte {
	tb.Helper()
	return expect.Value(os.ReadFile("testdata/export.json"))(tb)
}

func compressed(tb testing.TB, text []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	expect.Value(w.Write(text))(tb)
	expect.OK(tb, w.Close())
	return b.Bytes()
}

// linesOf returns the lines of a file by the partition key of their items.
func linesOf(tb testing.TB, file []byte) map[string]map[string]any {
	tb.Helper()
	m := map[string]map[string]any{}
	for text := range strings.Lines(string(file)) {
		if strings.TrimSpace(text) == "" {
			continue
		}
		l := parsed(tb, text)
		pk := l["Item"].(map[string]any)["pk"].(map[string]any)["S"].(string)
		if m[pk] != nil {
			tb.Errorf("%s is there twice", pk)
		}
		m[pk] = l
	}
	return m
}

func parsed(tb testing.TB, text string) map[string]any {
	tb.Helper()
	var m map[string]any
	expect.OK(tb, json.Unmarshal([]byte(text), &m))
	return m
}

func TestTransfer(t *testing.T) {
	t.Parallel()
	file := export(t)
	in := linesOf(t, file)
	for name, read := range map[string]io.Reader{
		"plain":          bytes.NewReader(file),
		"gzip":           bytes.NewReader(compressed(t, file)),
		"two gzip files": bytes.NewReader(append(compressed(t, file[:bytes.IndexByte(file, '\n')+1]), compressed(t, file[bytes.IndexByte(file, '\n')+1:])...)),
		"byte by byte":   iotest.OneByteReader(bytes.NewReader(compressed(t, bytes.TrimSpace(file)))),
	} {
		var out, aside bytes.Buffer
		report := expect.Value(newTransfer(t).Run(read, &out, &aside))(t)
		expect.Equal(t, name, report, backfill.TransferReport{
			Lines: 13, Entities: 3, Others: 1, Newer: 1, Dropped: 3, SetAside: 5, Written: 7, Copies: 2,
			Unmatched: 1, // a former copy
		})
		got := linesOf(t, out.Bytes())
		for _, same := range []string{"TYPES#1", "MEMBER#m-3", "MEMBER#m-7"} {
			expect.Equal(t, name+": "+same, got[same], in[same])
		}
		// The next revisions are drawn at random, one for all items of an entity.
		revision := func(pk string) string {
			attribute := got[pk]["Item"].(map[string]any)["revision"].(map[string]any)
			defer func() { attribute["S"] = "*" }()
			return attribute["S"].(string)
		}
		for main, email := range map[string]string{"MEMBER#m-1": "EMAIL#ana@x", "MEMBER#m-2": "EMAIL#eva@x"} {
			first, second := revision(main), revision(email)
			if first != second || first == "R1" || first == "R2" {
				t.Errorf("%s: revisions %q and %q", main, first, second)
			}
		}
		for pk, want := range map[string]string{
			"MEMBER#m-1": `{"pk":{"S":"MEMBER#m-1"},"sk":{"S":"METADATA"},"entityType":{"S":"MEMBER"},"entityShape":{"N":"1"},"id":{"S":"m-1"},"email":{"S":"ana@x"},"years":{"N":"3"},"revision":{"S":"*"},"expiresAt":{"N":"1700000000"},"unknown":{"M":{"kept":{"BOOL":false}}},"gsi1pk":{"S":"MEMBERS"},"gsi1sk":{"S":"YEARS#3"},"gsi2pk":{"S":"LATER"}}`,
			// A copy has no index keys, not those of a later release either.
			"EMAIL#ana@x": `{"pk":{"S":"EMAIL#ana@x"},"sk":{"S":"METADATA"},"entityType":{"S":"MEMBER"},"entityShape":{"N":"1"},"id":{"S":"m-1"},"email":{"S":"ana@x"},"years":{"N":"3"},"revision":{"S":"*"},"expiresAt":{"N":"1700000000"},"unknown":{"M":{"kept":{"BOOL":false}}}}`,
			"MEMBER#m-2":  `{"pk":{"S":"MEMBER#m-2"},"sk":{"S":"METADATA"},"entityType":{"S":"MEMBER"},"entityShape":{"N":"1"},"id":{"S":"m-2"},"email":{"S":"eva@x"},"years":{"N":"4"},"revision":{"S":"*"},"gsi1pk":{"S":"MEMBERS"},"gsi1sk":{"S":"YEARS#4"}}`,
		} {
			expect.Equal(t, name+": "+pk, got[pk]["Item"], any(parsed(t, want)))
		}
		expect.Equal(t, name+": items", len(got), 7)

		asides := linesOf(t, aside.Bytes())
		for pk, want := range map[string]struct {
			line   float64
			reason string
		}{
			"MEMBER#m-4":   {8, "upgrade from shape 0"},
			"MEMBER#m-5":   {9, "has the same key"},
			"STRAY#secret": {11, repo.ErrOrphan.Error()},
			"NUMBER#1":     {12, "more than 38 digits"},
			"TWICE#1":      {13, "twice"},
		} {
			reason, _ := asides[pk]["Reason"].(string)
			if !strings.Contains(reason, want.reason) || strings.Contains(reason, "secret") {
				t.Errorf("%s: %s: reason %q", name, pk, reason)
			}
			expect.Equal(t, name+": line of "+pk, asides[pk]["Line"], any(want.line))
			expect.Equal(t, name+": "+pk, asides[pk]["Item"], in[pk]["Item"])
		}
		expect.Equal(t, name+": set aside", len(asides), 5)

		// What was set aside can be read again.
		again := expect.Value(newTransfer(t).Run(&aside, io.Discard, io.Discard))(t)
		expect.Equal(t, name+": again", again, backfill.TransferReport{Lines: 5, Entities: 1, SetAside: 4, Written: 2, Copies: 1})
	}
}

// All types of attributes go through RefreshItems and Map unchanged, but that sets come
// out in order.
func TestTransferKeepsAllTypes(t *testing.T) {
	t.Parallel()
	types := strings.SplitN(string(export(t)), "\n", 2)[0]
	var out bytes.Buffer
	mapped := newTransfer(t)
	mapped.Map = func(item table.Item) ([]table.Item, error) { return []table.Item{item}, nil }
	expect.Value(mapped.Run(strings.NewReader(types), &out, io.Discard))(t)
	expect.Equal(t, "mapped", parsed(t, out.String()), parsed(t, types))

	out.Reset()
	own := strings.Replace(types, `"pk":{"S":"TYPES#1"}`, `"pk":{"S":"MEMBER#m"},"entityType":{"S":"MEMBER"},"id":{"S":"m"},"email":{"S":""},"years":{"S":"1 year"}`, 1)
	report := expect.Value(newTransfer(t).Run(strings.NewReader(own), &out, io.Discard))(t)
	expect.Equal(t, "entities", report.Entities, 1)
	want := parsed(t, types)["Item"].(map[string]any)
	got := parsed(t, out.String())["Item"].(map[string]any)
	for name, value := range want {
		if name != "pk" {
			expect.Equal(t, name, got[name], value)
		}
	}
}

// The attributes by which a global table of 2017 replicates are about that table.
func TestTransferDropsReplication(t *testing.T) {
	t.Parallel()
	const replication = `"aws:rep:deleting":{"BOOL":false},"aws:rep:updatetime":{"N":"1678818915.260001"},"aws:rep:updateregion":{"S":"us-east-1"},"aws:rep":{"S":"kept"},`
	for name, attributes := range map[string]string{
		"an entity":     `"entityType":{"S":"MEMBER"},"id":{"S":"m"},"email":{"S":""},"years":{"S":"1 year"},"pk":{"S":"MEMBER#m"},"sk":{"S":"METADATA"}`,
		"another item":  `"pk":{"S":"X"},"sk":{"S":"Y"}`,
		"a newer shape": `"entityType":{"S":"MEMBER"},"entityShape":{"N":"9"},"pk":{"S":"MEMBER#m"},"sk":{"S":"METADATA"}`,
	} {
		var out bytes.Buffer
		report := expect.Value(newTransfer(t).Run(strings.NewReader(`{"Item":{`+replication+attributes+`}}`), &out, io.Discard))(t)
		stored := parsed(t, out.String())["Item"].(map[string]any)
		for attribute := range stored {
			if strings.HasPrefix(attribute, "aws:rep:") {
				t.Errorf("%s: %s is stored", name, attribute)
			}
		}
		expect.Equal(t, name+": written", report.Written, 1)
		expect.Equal(t, name+": another attribute", stored["aws:rep"], any(map[string]any{"S": "kept"}))
	}
}

func TestTransferMap(t *testing.T) {
	t.Parallel()
	mapped := newTransfer(t)
	failing := errors.New("is not wanted")
	mapped.Map = func(item table.Item) ([]table.Item, error) {
		switch key := mapped.Table.KeyOf("", item); key.PK {
		case "TYPES#1":
			other := table.Item{"pk": item["pk"], "sk": item["pk"]}
			return []table.Item{item, other}, nil
		case "NUMBER#1":
			return nil, nil
		default:
			return nil, failing
		}
	}
	text := string(export(t)) + `{"Item":{"pk":{"S":"X"},"sk":{"S":"Y"}}}`
	var aside bytes.Buffer
	report := expect.Value(mapped.Run(strings.NewReader(text), io.Discard, &aside))(t)
	expect.Equal(t, "report", report, backfill.TransferReport{
		Lines: 14, Entities: 3, Others: 1, Newer: 1, Dropped: 4, SetAside: 5, Written: 8, Copies: 2, Unmatched: 1,
	})
	expect.Equal(t, "reason", linesOf(t, aside.Bytes())["X"]["Reason"], any(failing.Error()))
}

// A Map brings an entity over under another main key: with what its type does not know, and
// with the copies and claims of the new description.
func TestTransferMovesMainKeys(t *testing.T) {
	t.Parallel()
	mapped := newTransfer(t)
	old := expect.Value(repo.New(mapped.Table, memberEntity))(t)
	entity := memberEntity
	entity.Key = func(m member) keys.Key { return metadata("CLUB", m.ID) }
	entity.Claims = func(m member) []keys.Key { return []keys.Key{metadata("MEMBER", m.ID)} }
	moved := expect.Value(repo.New(mapped.Table, entity))(t)
	mapped.Entities = nil
	mapped.Map = func(item table.Item) ([]table.Item, error) {
		m, main, err := old.Decode(item)
		if err != nil || !main {
			return nil, err
		}
		key, err := mapped.Table.IndexKey("", entity.Key(m))
		if err != nil {
			return nil, err
		}
		maps.Copy(item, key)
		return moved.RefreshItems(item)
	}
	lines := bytes.SplitAfter(export(t), []byte("\n"))
	var out bytes.Buffer
	report := expect.Value(mapped.Run(bytes.NewReader(bytes.Join(lines[1:4], nil)), &out, io.Discard))(t)
	expect.Equal(t, "report", report, backfill.TransferReport{Lines: 2, Others: 1, Dropped: 1, Written: 3})
	got := linesOf(t, out.Bytes())
	item := func(pk string) map[string]any { return got[pk]["Item"].(map[string]any) }
	for _, pk := range []string{"CLUB#m-1", "EMAIL#ana@x"} {
		expect.Equal(t, pk+": unknown", item(pk)["unknown"], any(parsed(t, `{"M":{"kept":{"BOOL":false}}}`)))
		expect.Equal(t, pk+": upgraded", item(pk)["years"], any(parsed(t, `{"N":"3"}`)))
	}
	expect.Equal(t, "owner of the claim", item("MEMBER#m-1")["ownerPK"], any(parsed(t, `{"S":"CLUB#m-1"}`)))
}

// A key that another file has written is found.
func TestTransferOfSeveralFiles(t *testing.T) {
	t.Parallel()
	transfer := newTransfer(t)
	one := func(id string) io.Reader {
		return strings.NewReader(`{"Item":{"pk":{"S":"` + id + `"},"sk":{"S":"S"}}}`)
	}
	for i, id := range []string{"1", "2", "1"} {
		report := expect.Value(transfer.Run(one(id), io.Discard, io.Discard))(t)
		expect.Equal(t, fmt.Sprint("file ", i), report.SetAside, int64(i/2))
	}
}

// A copy is dropped for good only if its main item gives it again, before or after it.
func TestTransferMatchesCopies(t *testing.T) {
	t.Parallel()
	lines := strings.Split(string(export(t)), "\n")
	main, copied := lines[1], lines[3]
	for name, tt := range map[string]struct {
		files []string
		want  []int64
	}{
		"main first": {[]string{main, copied}, []int64{0, 0}},
		"copy first": {[]string{copied, main}, []int64{1, 0}},
		"no main":    {[]string{copied}, []int64{1}},
		"stray":      {[]string{copied, strings.Replace(main, "ana@x", "joe@x", 1)}, []int64{1, 1}},
		"set aside":  {[]string{copied, strings.Replace(main, "3 years", "x", 1)}, []int64{1, 1}},
	} {
		transfer := newTransfer(t)
		for i, file := range tt.files {
			report := expect.Value(transfer.Run(strings.NewReader(file), io.Discard, io.Discard))(t)
			expect.Equal(t, fmt.Sprint(name, ", file ", i), report.Unmatched, tt.want[i])
		}
	}
}

func TestTransferRefuses(t *testing.T) {
	t.Parallel()
	item := `{"Item":{"pk":{"S":"secret"},"sk":{"S":"S"}}}`
	whole := compressed(t, []byte(strings.Repeat(item+"\n", 1000)))
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-6] ^= 1 // in the checksum
	for name, tt := range map[string]struct {
		in   string
		line string
		want error
	}{
		"not JSON":           {item + "\nsecret", "line 2:", table.ErrInvalid},
		"cut off":            {item + "\n" + item[:30], "line 2:", table.ErrInvalid},
		"no item":            {"\n{}", "line 2:", table.ErrInvalid},
		"two items":          {item[:len(item)-1] + "," + item[1:], "line 1:", table.ErrInvalid},
		"two values":         {item + item, "line 1:", table.ErrInvalid},
		"an array":           {"[" + item + "]", "line 1:", table.ErrInvalid},
		"an item alone":      {item[8 : len(item)-1], "line 1:", table.ErrInvalid},
		"another member":     {item[:len(item)-1] + `,"secret":1}`, "line 1:", table.ErrInvalid},
		"plain JSON":         {`{"Item":{"pk":"secret"}}`, "line 1:", table.ErrInvalid},
		"unknown type":       {`{"Item":{"pk":{"X":"secret"}}}`, "line 1:", table.ErrInvalid},
		"two types":          {`{"Item":{"pk":{"S":"secret","N":"1"}}}`, "line 1:", table.ErrInvalid},
		"bad base64":         {`{"Item":{"b":{"B":"secret*"}}}`, "line 1:", table.ErrInvalid},
		"incremental export": {`{"Metadata":{"WriteTimestampMicros":{"N":"1"}},"Keys":{"pk":{"S":"secret"}},"NewImage":{"pk":{"S":"secret"}}}`, "incremental", table.ErrInvalid},
		"a deletion":         {`{"Keys":{"pk":{"S":"secret"}},"OldImage":{"pk":{"S":"secret"}}}`, "incremental", table.ErrInvalid},
		"a long line":        {item + "\n" + strings.Repeat("secret", 9<<20/6), "line 2:", table.ErrInvalid},
		"cut off gzip":       {string(whole[:len(whole)-20]), "line ", io.ErrUnexpectedEOF},
		"damaged gzip":       {string(damaged), "line 1000", gzip.ErrChecksum},
		"no gzip":            {"\x1f\x8b", "", io.ErrUnexpectedEOF},
	} {
		report, err := newTransfer(t).Run(strings.NewReader(tt.in), io.Discard, io.Discard)
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.line) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v", name, report, err)
		}
		var e *table.Error
		if !errors.As(err, &e) || e.Table != "Members" {
			t.Errorf("%s: %#v", name, err)
		}
	}
	for name, transfer := range map[string]*backfill.Transfer{
		"no table":   {},
		"nil entity": {Table: newTransfer(t).Table, Entities: []backfill.Entity{nil}},
	} {
		if _, err := transfer.Run(strings.NewReader(item), io.Discard, io.Discard); !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Only EOF itself is the end.
	odd := iotest.ErrReader(fmt.Errorf("the connection broke: %w", io.EOF))
	if report, err := newTransfer(t).Run(io.MultiReader(strings.NewReader(item+"\n"), odd), io.Discard, io.Discard); err == nil {
		t.Errorf("a broken connection is the end: %v", report)
	}
	full := errors.New("the disk is full")
	for name, w := range map[string][2]io.Writer{"out": {failingWriter{full}, io.Discard}, "aside": {io.Discard, failingWriter{full}}} {
		if _, err := newTransfer(t).Run(bytes.NewReader(export(t)), w[0], w[1]); !errors.Is(err, full) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// The export of an empty partition is an empty file.
func TestTransferOfAnEmptyFile(t *testing.T) {
	t.Parallel()
	for _, in := range [][]byte{nil, []byte("\n\r\n"), compressed(t, nil)} {
		expect.Equal(t, "report", expect.Value(newTransfer(t).Run(bytes.NewReader(in), io.Discard, io.Discard))(t), backfill.TransferReport{})
	}
}

// Whatever the input is, every line is accounted for, and what is written can be read
// and stays as it is.
func FuzzTransfer(f *testing.F) {
	for text := range strings.Lines(string(export(f))) {
		f.Add([]byte(text))
	}
	f.Add(export(f))
	f.Add(compressed(f, export(f)))
	f.Add([]byte(`{"Keys":{}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out, aside bytes.Buffer
		report, err := newTransfer(t).Run(bytes.NewReader(in), &out, &aside)
		if report.Lines != report.Entities+report.Others+report.Newer+report.Dropped+report.SetAside {
			t.Errorf("%v of\n%q", report, in)
		}
		if err != nil {
			return
		}
		if n := bytes.Count(out.Bytes(), []byte("\n")); int64(n) != report.Written {
			t.Errorf("%d lines and %v", n, report)
		}
		if n := bytes.Count(aside.Bytes(), []byte("\n")); int64(n) != report.SetAside {
			t.Errorf("%d lines and %v", n, report)
		}
		var again bytes.Buffer
		second, err := newTransfer(t).Run(bytes.NewReader(out.Bytes()), &again, io.Discard)
		if err != nil || second.SetAside != 0 || second.Written != report.Written {
			t.Errorf("%v, %v of\n%q", second, err, out.Bytes())
		}
		if diff := cmp.Diff(linesOf(t, out.Bytes()), linesOf(t, again.Bytes())); diff != "" {
			t.Error(diff)
		}
	})
}
