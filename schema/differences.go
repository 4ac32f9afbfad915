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

// layout is what an index looks like, in words. The status is empty unless
// DynamoDB is creating or deleting it.
type layout struct{ keys, projection, status string }

// layoutDifferences compares keys and indexes.
func (i *inspector) layoutDifferences() []difference {
	var all []difference
	w := keysText(i.want.KeySchema, typesOf(i.want.AttributeDefinitions))
	h := keysText(i.have.KeySchema, typesOf(i.have.AttributeDefinitions))
	if w != h {
		all = append(all, differs("", byHand, handKeys, "keys: are %s, the schema wants %s", h, w))
	}
	return slices.Concat(all, i.globalDifferences(), i.localDifferences(), i.vectorDifferences())
}

func differs(index string, by kind, action, format string, args ...any) difference {
	return difference{Change: Change{Difference: fmt.Sprintf(format, args...), Action: action}, kind: by, index: index}
}

// globalDifferences compares the global indexes.
func (i *inspector) globalDifferences() []difference {
	var all []difference
	wantTypes, haveTypes := typesOf(i.want.AttributeDefinitions), typesOf(i.have.AttributeDefinitions)
	live := map[string]layout{}
	n := len(i.have.GlobalSecondaryIndexes)
	for _, x := range i.have.GlobalSecondaryIndexes {
		live[aws.ToString(x.IndexName)] = layout{keysText(x.KeySchema, haveTypes), projectionText(x.Projection), statusText(x.IndexStatus, x.Backfilling)}
	}
	for _, x := range i.want.GlobalSecondaryIndexes {
		name := *x.IndexName
		h, ok := live[name]
		delete(live, name)
		if !ok {
			n++
			all = append(all, i.missingIndex(x, n))
			continue
		}
		all = append(all, h.pending("global index "+name, name)...)
		w := layout{keys: keysText(x.KeySchema, wantTypes), projection: projectionText(x.Projection)}
		all = append(all, w.differences("global index "+name, name, handIndex, h)...)
	}
	return append(all, unknownIndexes("global", live)...)
}

// localDifferences compares the local indexes.
func (i *inspector) localDifferences() []difference {
	var all []difference
	wantTypes, haveTypes := typesOf(i.want.AttributeDefinitions), typesOf(i.have.AttributeDefinitions)
	live := map[string]layout{}
	for _, x := range i.have.LocalSecondaryIndexes {
		live[aws.ToString(x.IndexName)] = layout{keys: keysText(x.KeySchema, haveTypes), projection: projectionText(x.Projection)}
	}
	for _, x := range i.want.LocalSecondaryIndexes {
		name := *x.IndexName
		h, ok := live[name]
		delete(live, name)
		if !ok {
			all = append(all, differs(name, byHand, handLocal, "local index %s: is missing", name))
			continue
		}
		w := layout{keys: keysText(x.KeySchema, wantTypes), projection: projectionText(x.Projection)}
		all = append(all, w.differences("local index "+name, name, handLocal, h)...)
	}
	return append(all, unknownIndexes("local", live)...)
}

// differences compares the layout that the schema wants with that of the live index.
func (w layout) differences(where, index, action string, live layout) []difference {
	var all []difference
	if live.keys != w.keys {
		all = append(all, differs(index, byHand, action, "%s: keys are %s, the schema wants %s", where, live.keys, w.keys))
	}
	if live.projection != w.projection {
		all = append(all, differs(index, byHand, action, "%s: projects %s, the schema wants %s", where, live.projection, w.projection))
	}
	return all
}

// pending is the difference of w, a live index, if DynamoDB is creating or deleting it.
func (w layout) pending(where, index string) []difference {
	switch w.status {
	case "":
		return nil
	case string(types.IndexStatusDeleting):
		return []difference{differs(index, byEnsure, "wait until it is gone, and add it", "%s: is %s", where, w.status)}
	}
	return []difference{differs(index, byEnsure, "wait until it is ACTIVE", "%s: is %s", where, w.status)}
}

// unknownIndexes are notes about the live indexes that the schema does not name.
func unknownIndexes(kind string, live map[string]layout) []difference {
	var all []difference
	for _, name := range slices.Sorted(maps.Keys(live)) {
		all = append(all, differs(name, noted, leaveIndex, "%s index %s: is not in the schema", kind, name))
	}
	return all
}

// missingIndex is the difference of a global index that the live table lacks, and that
// makes n of them.
func (i *inspector) missingIndex(x types.GlobalSecondaryIndex, n int) difference {
	name := *x.IndexName
	d := difference{Change: Change{Difference: "global index " + name + ": is missing"}, index: name}
	if slices.ContainsFunc(i.have.LocalSecondaryIndexes, func(l types.LocalSecondaryIndexDescription) bool {
		return aws.ToString(l.IndexName) == name
	}) || slices.ContainsFunc(i.have.VectorIndexes, func(v types.VectorIndexDescription) bool { return aws.ToString(v.IndexName) == name }) {
		d.kind, d.Action = byHand, handName
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
		d.kind, d.Action = byHand, handUnits
		return d
	}
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

// definitions returns the definitions of an index's attributes. It is not ok, as d says, if
// the live table has one of them with another type.
func (i *inspector) definitions(names []string, d *difference) (all []types.AttributeDefinition, ok bool) {
	wantTypes, haveTypes := typesOf(i.want.AttributeDefinitions), typesOf(i.have.AttributeDefinitions)
	for _, name := range names {
		kind := wantTypes[name]
		if live, ok := haveTypes[name]; ok && live != kind {
			d.kind, d.Action = byHand, handType
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
// each item and one for each KB.
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

// building reports whether DynamoDB is creating or deleting an index of the table.
func building(have *types.TableDescription) bool {
	return slices.ContainsFunc(have.GlobalSecondaryIndexes, func(x types.GlobalSecondaryIndexDescription) bool {
		return statusText(x.IndexStatus, x.Backfilling) != ""
	}) || slices.ContainsFunc(have.VectorIndexes, func(x types.VectorIndexDescription) bool {
		return statusText(x.IndexStatus, x.Backfilling) != ""
	})
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
