package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// What resolves a difference that Ensure does not resolve.
const (
	handKeys  = "create a table under another name and copy the items: DynamoDB cannot change the keys of a table"
	handIndex = "add an index under another name to the schema, move the queries to it, and delete this one: " +
		"DynamoDB cannot change an index"
	handLocal = "use a global index, or create a table under another name and copy the items: " +
		"DynamoDB creates local indexes together with the table only"
	handStream = "turn it off when every consumer has read it to its end, let Ensure turn it on, and lead the consumers to the new stream: " +
		"records that are not read by then are lost, and so are those of the time in between"
	handBilling = "change it in DynamoDB, or in the schema: it decides about cost and capacity, and DynamoDB limits how often it can change"
	handUnits   = "give the index ProvisionedThroughput in the schema, with the billing mode PROVISIONED: the live table is PROVISIONED"
	handName    = "give it another name in the schema: the live table has another index of this name"
	handType    = "name another attribute in the schema: an attribute has one type in all keys of a table"
	leaveIndex  = "leave it: another release may use it, and Ensure drops nothing"
)

// index is one of a table, or one that a schema wants, in words.
type index struct {
	kind, name       string
	keys, projection string
	// status is that of a live one, empty unless DynamoDB is creating or deleting it.
	status       string
	items, bytes int64
}

// String is how differences begin.
func (x index) String() string { return x.kind + " index " + x.name }

// The kinds of indexes, in order.
const (
	global = "global"
	local  = "local"
	vector = "vector"
)

// liveIndexes returns the indexes of a live table.
func liveIndexes(have *types.TableDescription) (all []index) {
	attributes := typesOf(have.AttributeDefinitions)
	for _, x := range have.GlobalSecondaryIndexes {
		all = append(all, index{
			global, aws.ToString(x.IndexName), keysText(x.KeySchema, attributes), projectionText(x.Projection),
			statusText(x.IndexStatus, x.Backfilling), aws.ToInt64(x.ItemCount), aws.ToInt64(x.IndexSizeBytes),
		})
	}
	for _, x := range have.LocalSecondaryIndexes {
		all = append(all, index{
			local, aws.ToString(x.IndexName), keysText(x.KeySchema, attributes), projectionText(x.Projection),
			"", aws.ToInt64(x.ItemCount), aws.ToInt64(x.IndexSizeBytes),
		})
	}
	for _, x := range have.VectorIndexes {
		all = append(all, index{
			vector, aws.ToString(x.IndexName),
			vectorText(x.VectorAttribute, x.Dimensions, x.DistanceFunction, x.SearchSchema, attributes), projectionText(x.Projection),
			statusText(x.IndexStatus, x.Backfilling), aws.ToInt64(x.ItemCount), aws.ToInt64(x.IndexSizeBytes),
		})
	}
	return all
}

func differs(index string, by kind, action, format string, args ...any) difference {
	return difference{Change: Change{Difference: fmt.Sprintf(format, args...), Action: action}, kind: by, index: index}
}

// layoutDifferences compares keys and indexes.
func (i *inspector) layoutDifferences() (all []difference) {
	attributes := typesOf(i.want.AttributeDefinitions)
	w := keysText(i.want.KeySchema, attributes)
	if h := keysText(i.have.KeySchema, typesOf(i.have.AttributeDefinitions)); w != h {
		all = append(all, differs("", byHand, handKeys, "keys: are %s, the schema wants %s", h, w))
	}
	live := liveIndexes(i.have)
	compare := func(w index, action string, missing func(difference) difference) {
		at := slices.IndexFunc(live, func(x index) bool { return x.kind == w.kind && x.name == w.name })
		if at < 0 {
			all = append(all, missing(differs(w.name, byHand, action, "%v: is missing", w)))
			return
		}
		all = append(all, w.differences(live[at], action)...)
		live = slices.Delete(live, at, at+1)
	}
	n := len(i.have.GlobalSecondaryIndexes)
	for _, x := range i.want.GlobalSecondaryIndexes {
		w := index{kind: global, name: *x.IndexName, keys: keysText(x.KeySchema, attributes), projection: projectionText(x.Projection)}
		compare(w, handIndex, func(d difference) difference { n++; return i.missingIndex(d, x, n) })
	}
	for _, x := range i.want.LocalSecondaryIndexes {
		w := index{kind: local, name: *x.IndexName, keys: keysText(x.KeySchema, attributes), projection: projectionText(x.Projection)}
		compare(w, handLocal, func(d difference) difference { return d })
	}
	for _, x := range i.want.VectorIndexes {
		keys := vectorText(x.VectorAttribute, x.Dimensions, x.DistanceFunction, x.SearchSchema, attributes)
		w := index{kind: vector, name: *x.IndexName, keys: keys, projection: projectionText(x.Projection)}
		compare(w, handIndex, func(d difference) difference { return i.missingVectorIndex(d, x) })
	}
	unknown := map[string]index{}
	for _, x := range live {
		unknown[x.String()] = x
	}
	for _, text := range slices.Sorted(maps.Keys(unknown)) {
		all = append(all, differs(unknown[text].name, noted, leaveIndex, "%s: is not in the schema", text))
	}
	return all
}

// differences compares the index that the schema wants with the live one.
func (x index) differences(live index, action string) (all []difference) {
	switch live.status {
	case "":
	case string(types.IndexStatusDeleting):
		all = append(all, differs(x.name, byEnsure, "wait until it is gone, and add it", "%v: is %s", x, live.status))
	default:
		all = append(all, differs(x.name, byEnsure, "wait until it is ACTIVE", "%v: is %s", x, live.status))
	}
	if live.keys != x.keys {
		all = append(all, differs(x.name, byHand, action, "%v: keys are %s, the schema wants %s", x, live.keys, x.keys))
	}
	if live.projection != x.projection {
		all = append(all, differs(x.name, byHand, action, "%v: projects %s, the schema wants %s", x, live.projection, x.projection))
	}
	return all
}

// missingIndex completes the difference of a global index that the live table lacks, and that
// makes n of them.
func (i *inspector) missingIndex(d difference, x types.GlobalSecondaryIndex, n int) difference {
	if i.hasIndex(d.index) {
		d.Action = handName
		return d
	}
	var names []string
	for _, k := range x.KeySchema {
		names = append(names, *k.AttributeName)
	}
	attributes, ok := i.definitions(names, &d)
	if !ok {
		return d
	}
	if billingMode(i.have) == types.BillingModeProvisioned && x.ProvisionedThroughput == nil {
		d.Action = handUnits
		return d
	}
	d.kind = byEnsure
	d.Action, d.WriteUnits = additionText(i.have)
	d.Action, d.beyond = underQuota(n, d.Action), n > defaultGlobalIndexes
	d.update, d.request = true, i.updateTable(&dynamodb.UpdateTableInput{
		AttributeDefinitions: attributes,
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName: x.IndexName, KeySchema: x.KeySchema, Projection: x.Projection,
			ProvisionedThroughput: x.ProvisionedThroughput, WarmThroughput: x.WarmThroughput,
		}}},
	})
	return d
}

// hasIndex reports whether the live table has an index of any kind under a name.
func (i *inspector) hasIndex(name string) bool {
	return slices.ContainsFunc(liveIndexes(i.have), func(x index) bool { return x.name == name })
}

// definitions returns the definitions of an index's attributes. It is not ok, as d says, if
// the live table has one of them with another type.
func (i *inspector) definitions(names []string, d *difference) (all []types.AttributeDefinition, ok bool) {
	wantTypes, haveTypes := typesOf(i.want.AttributeDefinitions), typesOf(i.have.AttributeDefinitions)
	for _, name := range names {
		kind := wantTypes[name]
		if live, ok := haveTypes[name]; ok && live != kind {
			d.Action = handType
			d.Difference += fmt.Sprintf(", and its attribute %s has type %s in other keys, the schema wants %s", name, live, kind)
			return nil, false
		}
		all = append(all, types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: kind})
	}
	return all, true
}

// underQuota is what makes n global indexes. The quota of an account is not known here.
func underQuota(n int, action string) string {
	if n <= defaultGlobalIndexes {
		return action
	}
	return fmt.Sprintf("ask AWS for a quota of %d global indexes for each table (%d by default), and %s", n, defaultGlobalIndexes, action)
}

// additionText says what adding an index to the table takes. Each item in the index
// costs a write unit for each KB, rounded up, so all together cost at most one for
// each item and one for each KB. AWS: "Managing Global Secondary Indexes in DynamoDB",
// Amazon DynamoDB Developer Guide.
func additionText(have *types.TableDescription) (action string, units int64) {
	items, bytes := aws.ToInt64(have.ItemCount), aws.ToInt64(have.TableSizeBytes)
	units = items + bytes/writeUnit
	if items < 1 || bytes < 1 || units < items {
		return "add it, for a write unit for each KB of each item: how many is not known until DynamoDB counts, about every 6 hours", 0
	}
	return fmt.Sprintf("add it, for at most %d write units by DynamoDB's count of items (%d) and bytes (%d), which is up to about 6 hours old",
		units, items, bytes), units
}

// writeUnit is how many bytes a write unit writes.
const writeUnit = 1024

// settingsDifferences compares how the table is operated. Settings that the schema
// leaves zero are not compared.
func (i *inspector) settingsDifferences() []difference {
	s, have := i.schema, i.have
	var all []difference
	if s.Stream != "" {
		live := "off"
		if spec := have.StreamSpecification; spec != nil && aws.ToBool(spec.StreamEnabled) {
			live = string(spec.StreamViewType)
		}
		d := differs("", byHand, handStream, "Stream: is %s, the schema wants %s", live, s.Stream)
		if live == "off" {
			d.kind, d.Action, d.update = byEnsure, "turn it on", true
			d.request = i.updateTable(&dynamodb.UpdateTableInput{StreamSpecification: i.want.StreamSpecification})
		}
		if live != string(s.Stream) {
			all = append(all, d)
		}
	}
	if live := billingMode(have); s.BillingMode != "" && live != s.BillingMode {
		all = append(all, differs("", byHand, handBilling, "BillingMode: is %s, the schema wants %s", live, s.BillingMode))
	}
	if s.DeletionProtection && !aws.ToBool(have.DeletionProtectionEnabled) {
		all = append(all, difference{
			Change: Change{Difference: "DeletionProtection: is off, the schema wants it on", Action: "turn it on"},
			update: true, request: i.updateTable(&dynamodb.UpdateTableInput{DeletionProtectionEnabled: aws.Bool(true)}),
		})
	}
	return all
}

// billingMode returns the billing mode of a live table. One that never was on demand
// has no summary.
func billingMode(have *types.TableDescription) types.BillingMode {
	if have.BillingModeSummary == nil {
		return types.BillingModeProvisioned
	}
	return have.BillingModeSummary.BillingMode
}

// statusText returns the status of an index that cannot be read, "" for others.
func statusText(status types.IndexStatus, backfilling *bool) string {
	switch {
	case aws.ToBool(backfilling):
		return string(status) + ", backfilling"
	case status != types.IndexStatusCreating && status != types.IndexStatusDeleting:
		return ""
	}
	return string(status)
}

func typesOf(definitions []types.AttributeDefinition) map[string]types.ScalarAttributeType {
	all := make(map[string]types.ScalarAttributeType, len(definitions))
	for _, d := range definitions {
		all[aws.ToString(d.AttributeName)] = d.AttributeType
	}
	return all
}

func keysText(elements []types.KeySchemaElement, attributes map[string]types.ScalarAttributeType) string {
	var parts []string
	for _, e := range elements {
		name := aws.ToString(e.AttributeName)
		parts = append(parts, fmt.Sprintf("%s %s (%s)", e.KeyType, name, attributes[name]))
	}
	return strings.Join(parts, " and ")
}

func projectionText(p *types.Projection) string {
	if p == nil {
		return "nothing"
	}
	if p.ProjectionType != types.ProjectionTypeInclude {
		return string(p.ProjectionType)
	}
	include := slices.Sorted(slices.Values(p.NonKeyAttributes))
	return fmt.Sprintf("INCLUDE %q", include)
}
