package core

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// The model: which items there are, and what they are called. Every key holds
// the tenant as a segment of its partition key. Segments are escaped by package
// keys, so no tenant and no code can spell the key of another.

const (
	codeIndex = "code-index"
	openIndex = "open-tasks"
)

// Schema is the one table of all tenants. Its stream starts whatever follows from a
// write: see handlers.
func Schema(name string) schema.Table {
	return schema.Table{
		Name:         name,
		TTLAttribute: "expiresAt",
		Indexes: []schema.Index{
			{Name: codeIndex, PK: "codePK", SK: "codeSK"},
			{Name: openIndex, PK: openPK, SK: openSK, Projection: types.ProjectionTypeKeysOnly},
		},
		Stream: types.StreamViewTypeNewAndOldImages,
	}
}

// Record holds the attributes that commands, data and history have in common.
// Attributes are the business's own. Numbers among them are read as float64.
type Record struct {
	ID         string         `dynamodbav:"id"`
	Code       string         `dynamodbav:"code"`
	Name       string         `dynamodbav:"name"`
	TenantCode string         `dynamodbav:"tenantCode"`
	Type       string         `dynamodbav:"type"`
	Parents    []string       `dynamodbav:"parents,omitempty"`
	Version    int64          `dynamodbav:"version"`
	Attributes map[string]any `dynamodbav:"attributes"`
	CreatedBy  string         `dynamodbav:"createdBy"`
	CreatedAt  time.Time      `dynamodbav:"createdAt"`
	CreatedIP  string         `dynamodbav:"createdIp"`
	UpdatedBy  string         `dynamodbav:"updatedBy"`
	UpdatedAt  time.Time      `dynamodbav:"updatedAt"`
	UpdatedIP  string         `dynamodbav:"updatedIp"`
}

// Ref returns what the record is called within its tenant.
func (r Record) Ref() Ref { return Ref{Type: r.Type, Parents: r.Parents, Code: r.Code} }

// Data is the record as it stands, the read model:
// ORDER#<tenant> / ORDER#<year>#<code>. It is made of the history.
type Data struct{ Record }

// Key returns the key of the data.
func (d Data) Key() keys.Key { return dataKey(d.TenantCode, d.Ref()) }

// Command is what somebody asked for, kept for good. It is stored under a type
// of its own: ORDER_CMD#<tenant> / ORDER_CMD#<code>#<version that it made>.
type Command struct {
	Record
	Expected int64 `dynamodbav:"expectedVersion"`
	// Source and RequestID are those of the [Caller].
	Source    string `dynamodbav:"source,omitempty"`
	RequestID string `dynamodbav:"requestId,omitempty"`
}

// Key returns the key of the command.
func (c Command) Key() keys.Key { return commands.key(c.TenantCode, c.Ref(), c.Version) }

// History is the record as it stood at one version:
// ORDER_HIST#<tenant> / ORDER_HIST#<code>#<sequence>. The sequence of a record's
// history begins at 1 and has no gaps; it is the version. All that is read by other
// keys is made of it.
type History struct {
	Record
	Seq int64 `dynamodbav:"seq"`
}

// Key returns the key of the version.
func (h History) Key() keys.Key { return histories.key(h.TenantCode, h.Ref(), h.Seq) }

// Ref says which record of a tenant is meant. One that is below others has their codes
// as Parents, from the top.
type Ref struct {
	Type    string   `dynamodbav:"type"`
	Parents []string `dynamodbav:"parents,omitempty"`
	Code    string   `dynamodbav:"code"`
}

// NewRef is short for a Ref: its type and its path from the top.
func NewRef(typ string, path ...string) Ref {
	r := Ref{Type: typ}
	if above := len(path) - 1; above >= 0 {
		r.Code = path[above]
		r.Parents = append(r.Parents, path[:above]...)
	}
	return r
}

// Path returns the codes from the top: those of the parents, and its own.
func (r Ref) Path() []string { return append(append([]string(nil), r.Parents...), r.Code) }

func segments(path []string) []keys.Segment {
	segs := make([]keys.Segment, len(path))
	for i, code := range path {
		segs[i] = keys.Str(code)
	}
	return segs
}

// dataKey is ORDER#<tenant> / ORDER#<code>, and DEPT#<tenant> /
// DEPT#<parent>#<child>.
func dataKey(tenant string, r Ref) keys.Key {
	p := keys.Prefix(r.Type)
	return keys.Key{PK: p.PK(tenant), SK: p.SK(segments(r.Path())...)}
}

// recordID is the record's id, the same in all its versions and unlike that of
// any other tenant's: ORDER#<tenant>#<year>#<code>.
func recordID(tenant string, r Ref) string {
	return string(keys.Prefix(r.Type).PK(append([]string{tenant}, r.Path()...)...))
}

// codeKey is the record's place in the index: CODE#<tenant>#<code>, whatever its
// type and its parents.
func codeKey(tenant string, r Ref) keys.Key {
	return keys.Key{PK: codePartition(tenant, r.Code), SK: dataKey(tenant, r).SK}
}

func codePartition(tenant, code string) keys.PK { return keys.Prefix("CODE").PK(tenant, code) }

// versioned is a row of items for each record, one for each version. The path is
// a single segment here, so that the rows of DEPT#a do not include those of
// DEPT#a#b.
type versioned string

const (
	commands  versioned = "_CMD"
	histories versioned = "_HIST"
)

const (
	versionWidth = 10
	lastVersion  = 9_999_999_999
)

func (v versioned) prefix(r Ref) keys.Prefix { return keys.Prefix(r.Type) + keys.Prefix(v) }

func (v versioned) key(tenant string, r Ref, version int64) keys.Key {
	return keys.Key{
		PK: v.prefix(r).PK(tenant),
		SK: v.prefix(r).SK(v.segment(r), keys.Int(version, versionWidth)),
	}
}

// query asks for all versions of a record.
func (v versioned) query(tenant string, r Ref) table.Query {
	return table.Query{PK: v.prefix(r).PK(tenant), Range: v.prefix(r).All(v.segment(r))}
}

// since asks for the versions of a record from one on.
func (v versioned) since(tenant string, r Ref, version int64) table.Query {
	from, to := v.key(tenant, r, version), v.key(tenant, r, lastVersion)
	return table.Query{PK: from.PK, Range: keys.Range{From: from.SK, To: to.SK}}
}

func (versioned) segment(r Ref) keys.Segment {
	return keys.Str(string(keys.None.SK(segments(r.Path())...)))
}

// dataEntity returns how data is stored. Records of types with an index are in
// code-index.
func dataEntity(entities Entities) repo.Entity[Data] {
	return repo.Entity[Data]{
		Type: "DATA",
		Key:  Data.Key,
		Indexes: repo.Indexes[Data]{codeIndex: func(d Data) keys.Key {
			if !entities[d.Type].Index {
				return keys.Key{}
			}
			return codeKey(d.TenantCode, d.Ref())
		}},
	}
}

var commandEntity = repo.Entity[Command]{
	Type: "COMMAND",
	Key:  Command.Key,
}

var historyEntity = repo.Entity[History]{
	Type: "HISTORY",
	Key:  History.Key,
}
