// The functions trust the pool by SSL_CERT_FILE, which Go does not read on these two systems.

//go:build !darwin && !windows

package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/lambda/lambdatest"
	"github.com/singletable/singletable/examples/internal/samtest"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Every function gets what it is for, one after the other. It has permission for the
// requests that it sends, for what an event source mapping does in its name, and for
// nothing else.
func TestFunctionsMayDoWhatTheyDoAndNoMore(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	maps.Copy(d.Environment, d.pool.Serve(t))
	ctx := t.Context()
	acme := d.service.As(core.Caller{Tenant: "ACME", User: "ana"})
	allowed := map[string][]samtest.Statement{"token": nil}

	rebuild := d.Start(t, "rebuild")
	check.Equal(t, "rebuild", string(rebuild.Invoke(t, []byte(`{"projection":"p1"}`)).Response), `{"rebuilt":"p1"}`)
	rebuild.Fails(t, []byte(`{"Projection":"p1"}`), "unknown member")
	d.needed(t) // a Scan, as below

	served := d.Start(t, "api")
	d.everyEndpoint(t, served, acme)
	allowed["api"] = d.needed(t, append(bucketAccess, reads("CursorKeysSecretArn"))...)

	d.deliver(t, d.Start(t, "work"), "WorkChanges")
	allowed["work"] = d.needed(t, append(bucketAccess, mappingAccess...)...)
	for _, id := range []string{"imp-1", "imp-2", "rebuild-1"} {
		check.Equal(t, id, check.Must(acme.Task(ctx, id))(t).Status, core.Done)
	}
	records, ok, err := acme.Audit(ctx)
	check.Equal(t, "audit", []any{records, ok, err}, []any{9, true, nil})

	d.deliver(t, d.Start(t, "project"), "ProjectChanges")
	allowed["project"] = d.needed(t, append(mappingAccess, reads("DatabaseSecretArn"))...)
	search := d.Start(t, "search")
	found := d.call(t, search, "GET /search", "?name=lamp", "", http.StatusOK)
	check.Equal(t, "found", strings.Count(found, `"id"`), 3)
	d.call(t, search, "GET /counts", "", "", http.StatusOK)
	search.Serve(t, lambdatest.Request{Method: "GET", Target: "/records"}, http.StatusNotFound)
	allowed["search"] = d.needed(t, reads("CursorKeysSecretArn"), reads("DatabaseSecretArn"))

	// The process that worked on tasks was killed, an hour ago.
	earlier := func(id string) {
		t.Helper()
		key := keys.Key{PK: "TASK#ACME", SK: keys.SK("TASK#" + id)}
		check.OK(t, d.table.Do(ctx, table.Patch(key, table.Item{"updatedAt": &dynamodbtypes.AttributeValueMemberS{Value: "2024-06-01T12:00:00Z"}})))
	}
	check.OK(t, acme.Import(ctx, "imp-4", []core.Change{{Ref: core.NewRef("PRODUCT", "BENCH")}, {Ref: core.NewRef("DEPT", "ENG", "OPS")}, {Ref: core.NewRef("USER", "bob")}, {Ref: core.NewRef("PRODUCT", "LAMP")}}), acme.RebuildCatalogue(ctx, "rebuild-2"))
	earlier("imp-4")
	earlier("rebuild-2")
	resume := d.Start(t, "resume")
	check.Equal(t, "resumed", string(resume.Invoke(t, []byte(`{"source":"aws.events"}`)).Response), "2")
	check.Equal(t, "resumed again", string(resume.Invoke(t, []byte(`{"source":"aws.events"}`)).Response), "0")
	check.Equal(t, "imp-4", check.Must(acme.Task(ctx, "imp-4"))(t).String(), "100 %: 3 of 4 done, 1 rejected")
	allowed["resume"] = d.needed(t, bucketAccess...)

	// The changes of that were given up.
	check.Equal(t, "rebuild", string(rebuild.Invoke(t, []byte(`{}`)).Response), `{"rebuilt":"data"}`)
	_, ok, err = acme.Audit(ctx)
	check.Equal(t, "audit", []any{ok, err}, []any{true, nil})
	allowed["rebuild"] = d.needed(t, reads("DatabaseSecretArn"))

	token := d.Start(t, "token")
	event := `{"version":"2","triggerSource":"TokenGeneration_Authentication","request":{"userAttributes":{"sub":"u-1"%s}},"response":{}}`
	check.Equal(t, "tenant", string(token.Invoke(t, fmt.Appendf(nil, event, `,"custom:tenant":"ACME"`)).Response),
		`{"request":{"userAttributes":{"custom:tenant":"ACME","sub":"u-1"}},"response":{"claimsAndScopeOverrideDetails":{"accessTokenGeneration":{"claimsToAddOrOverride":{"custom:tenant":"ACME"}}}},"triggerSource":"TokenGeneration_Authentication","version":"2"}`)
	check.Equal(t, "no tenant", strings.Contains(string(token.Invoke(t, fmt.Appendf(nil, event, "")).Response), "claims"), false)
	check.Equal(t, "functions", slices.Sorted(maps.Keys(d.Functions)), slices.Sorted(maps.Keys(allowed)))
	for handler, statements := range allowed {
		if handler != "token" {
			samtest.Allows(t, d.Functions[handler], statements...)
		}
	}
}
