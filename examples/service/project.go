package main

import (
	"crypto/rand"
	"fmt"
	"regexp"
	"time"

	"github.com/singletable/singletable/examples/internal/rest"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/schema"
)

// Schema is the one table of the service. Records of requests expire.
var Schema = schema.Table{Name: "Service", TTLAttribute: "expiresAt"}

const (
	tenant  keys.Prefix = "TENANT"
	project keys.Prefix = "PROJECT"
	slug    keys.Prefix = "SLUG"
)

// Project is stored under TENANT#‹tenant› / PROJECT#‹projectId›. No other project of the tenant
// has its slug.
type Project struct {
	Tenant   string `json:"-" dynamodbav:"tenant"`
	ID       string `json:"id" dynamodbav:"projectId"`
	Slug     string `json:"slug" dynamodbav:"slug"`
	Name     string `json:"name" dynamodbav:"name"`
	Revision string `json:"-" dynamodbav:"revision"`
}

// newID returns an id, which is greater than those of earlier milliseconds.
func newID() string { return fmt.Sprintf("%012x-%s", time.Now().UnixMilli(), rand.Text()) }

func keyOf(tenantID, id string) keys.Key {
	return keys.Key{PK: tenant.PK(tenantID), SK: project.SK(keys.Str(id))}
}

var projectEntity = repo.Entity[Project]{
	Type: "PROJECT",
	Key:  func(p Project) keys.Key { return keyOf(p.Tenant, p.ID) },
	Claims: func(p Project) []keys.Key {
		return []keys.Key{{PK: tenant.PK(p.Tenant), SK: slug.SK(keys.Str(p.Slug))}}
	},
	Version: "revision",
}

// etag is the ETag of all that the JSON of a project shows. A number in it that other entities
// count belongs into the ETag too: it changes without the revision. See [repo.Counter].
func (p Project) etag() string { return p.Revision }

var slugs = regexp.MustCompile(`^[a-z0-9-]{1,60}$`)

// check returns an error unless the project can be stored.
func (p Project) check() error {
	switch {
	case !slugs.MatchString(p.Slug):
		return rest.BadRequest("invalid_slug", "slug must have 1 to 60 of a-z, 0-9 and -")
	case p.Name == "" || len(p.Name) > 200:
		return rest.BadRequest("invalid_name", "name must have 1 to 200 bytes")
	}
	return nil
}
