package schema

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Limits of tags. AWS: "Tagging restrictions in DynamoDB", Amazon DynamoDB
// Developer Guide.
const (
	maxTags     = 50
	maxTagKey   = 128
	maxTagValue = 256
)

// tagText reports whether a tag may consist of the text. AWS: "Tag naming limits
// and requirements", Tagging AWS Resources and Tag Editor User Guide.
func tagText(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool {
		return !unicode.In(c, unicode.L, unicode.Z, unicode.N) && !strings.ContainsRune("_.:/=+-@", c)
	})
}

// settingsProblems adds what is wrong with how the table is to be operated.
func (t Table) settingsProblems(p problems) {
	oneOf(p, "Stream", t.Stream)
	oneOf(p, "BillingMode", t.BillingMode)
	oneOf(p, "TableClass", t.TableClass)
	p.throughput(t.BillingMode, t.ProvisionedThroughput, t.WarmThroughput)
	t.tagProblems(p)
}

// settingsProblems adds what is wrong with how the index is to be operated in a
// table of that billing mode.
func (x Index) settingsProblems(p problems, mode types.BillingMode) {
	if !x.Local {
		p.throughput(mode, x.ProvisionedThroughput, x.WarmThroughput)
		return
	}
	if x.ProvisionedThroughput != (Throughput{}) {
		p.add("ProvisionedThroughput: a local index has that of the table")
	}
	if x.WarmThroughput != (Throughput{}) {
		p.add("WarmThroughput: a local index has that of the table")
	}
}

func (p problems) throughput(mode types.BillingMode, provisioned, warm Throughput) {
	switch {
	case mode != types.BillingModeProvisioned && provisioned != (Throughput{}):
		p.add("ProvisionedThroughput: needs the billing mode PROVISIONED")
	case mode == types.BillingModeProvisioned && (provisioned.Read < 1 || provisioned.Write < 1):
		p.add("ProvisionedThroughput: %d read and %d write units, PROVISIONED needs at least 1 of each", provisioned.Read, provisioned.Write)
	}
	if warm.Read < 0 || warm.Write < 0 {
		p.add("WarmThroughput: %d read and %d write units, must not be negative", warm.Read, warm.Write)
	}
}

// oneOf adds a problem unless the value is empty or one of its type's.
func oneOf[T interface {
	~string
	Values() []T
}](p problems, field string, value T) {
	if values := value.Values(); value != "" && !slices.Contains(values, value) {
		p.add("%s: %q is not one of %q", field, string(value), values)
	}
}

func (t Table) tagProblems(p problems) {
	if len(t.Tags) > maxTags {
		p.add("Tags: are %d, DynamoDB allows %d", len(t.Tags), maxTags)
	}
	for _, key := range slices.Sorted(maps.Keys(t.Tags)) {
		value := t.Tags[key]
		if n := utf8.RuneCountInString(key); n < 1 || n > maxTagKey || !tagText(key) {
			p.add("Tags: the key %q is not 1 to %d letters, digits, spaces and _.:/=+-@", key, maxTagKey)
		}
		if len(key) >= len(reservedTag) && strings.EqualFold(key[:len(reservedTag)], reservedTag) {
			p.add("Tags: the key %q begins with %q, which AWS reserves", key, reservedTag)
		}
		if utf8.RuneCountInString(value) > maxTagValue || !tagText(value) {
			p.add("Tags[%q]: is not at most %d letters, digits, spaces and _.:/=+-@", key, maxTagValue)
		}
	}
}

// reservedTag begins the keys of tags that only AWS can set. AWS: "Tagging
// restrictions in DynamoDB", Amazon DynamoDB Developer Guide.
const reservedTag = "aws:"

// provisioned returns t as a member of a request, nil if it is zero.
func (t Throughput) provisioned() *types.ProvisionedThroughput {
	if t == (Throughput{}) {
		return nil
	}
	return &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(t.Read), WriteCapacityUnits: aws.Int64(t.Write)}
}

// warm returns t as a member of a request, without units that are zero.
func (t Throughput) warm() *types.WarmThroughput {
	if t == (Throughput{}) {
		return nil
	}
	var w types.WarmThroughput
	if t.Read != 0 {
		w.ReadUnitsPerSecond = aws.Int64(t.Read)
	}
	if t.Write != 0 {
		w.WriteUnitsPerSecond = aws.Int64(t.Write)
	}
	return &w
}
