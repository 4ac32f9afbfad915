package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// FuzzSchema describes arbitrary tables. What is refused is refused alike
// everywhere; everything else is a table on the engine.
func FuzzSchema(f *testing.F) {
	nasty := expect.Nasty()
	for i, text := range nasty {
		next := nasty[(i+1)%len(nasty)]
		f.Add("Table", text, next, "S", "N", "", "GSI1", "x", text, "B", byte(i))
		f.Add(text, "", "", text, "", text, text, text, "", "", byte(i))
		f.Add("Table", text, "", "", "", text+"ttl", "GSI1", text, "sk", "S", byte(0))
	}
	f.Add("Table", "pk", "sk", "S", "S", "ttl", "GSI1", "sk", "pk", "S", byte(0))
	f.Add("Table", "pk", "", "S", "S", "ttl", "LSI1", "", "x", "S", byte(1))
	f.Add("Table", "pk", "sk", "S", "S", "ttl", "GSI1", "sk", "pk", "S", byte(0xe0))
	f.Add("Table", "AWS:x", "sk", "S", "S", "ttl", "GSI1", "sk", "x", "S", byte(0x80))
	f.Add(strings.Repeat("T", 255), "", "", "B", "", "", strings.Repeat("I", 255), strings.Repeat("a", 255), "", "N", byte(4))
	f.Add(strings.Repeat("T", 256), "", "", "B", "", "", "GSI1", strings.Repeat("a", 256), "", "N", byte(4))
	client := tabletest.Client(f)
	projections := []types.ProjectionType{"", types.ProjectionTypeAll, types.ProjectionTypeKeysOnly, types.ProjectionTypeInclude}
	f.Fuzz(func(t *testing.T, name, pk, sk, pkType, skType, ttl, index, indexPK, indexSK, indexType string, how byte) {
		s := schema.Table{
			Name: name, PK: pk, SK: sk, SimpleKey: how&2 != 0, TTLAttribute: ttl,
			PKType: types.ScalarAttributeType(pkType), SKType: types.ScalarAttributeType(skType),
			Indexes: []schema.Index{{
				Name: index, PK: indexPK, SK: indexSK, PKType: types.ScalarAttributeType(indexType),
				Local: how&1 != 0, Projection: projections[how>>2&3],
			}},
		}
		if how&0x10 != 0 {
			s.Indexes[0].Include = []string{"name"}
		}
		if how&0x20 != 0 {
			s.BillingMode, s.ProvisionedThroughput = types.BillingModeProvisioned, schema.Throughput{Read: int64(how), Write: 1}
			s.Indexes[0].ProvisionedThroughput = schema.Throughput{Read: 1, Write: int64(how)}
		}
		if how&0x40 != 0 {
			s.Stream = types.StreamViewTypeNewImage
		}
		if how&0x80 != 0 {
			s.Tags = map[string]string{pk: sk, index: ttl}
		}
		err := s.Validate()
		in, inErr := s.CreateTableInput()
		_, newErr := table.New(client, s, nil)
		if (err == nil) != (inErr == nil) || (err == nil) != (newErr == nil) || (in == nil) != (err != nil) {
			t.Fatalf("%+v: Validate %v, CreateTableInput %v, New %v", s, err, inErr, newErr)
		}
		if err != nil {
			wellFormed(t, "Validate", err)
			if e, ok := errors.AsType[*schema.Error](err); !ok || !errors.Is(err, keys.ErrInvalid) || len(e.Problems) == 0 {
				t.Errorf("%v (%T)", err, err)
			}
			return
		}
		defer func() {
			// There is none if it could not be created.
			_, _ = client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(name)})
		}()
		if err := s.Ensure(t.Context(), client); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	})
}
