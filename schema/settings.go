package schema

import (
	"fmt"
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
// and requirements", Tagging AWS Resources User Guide.
func tagText(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool {
		return !unicode.In(c, unicode.L, unicode.Z, unicode.N) && !strings.ContainsRune("_.:/=+-@", c)
	})
}

// settingsProblems lists what is wrong with how the table is to be operated.
func (t Table) settingsProblems() []string {
	var problems []string
	problems = oneOf(problems, "Stream", t.Stream, t.Stream.Values())
	problems = oneOf(problems, "BillingMode", t.BillingMode, t.BillingMode.Values())
	problems = oneOf(problems, "TableClass", t.TableClass, t.TableClass.Values())
	problems = append(problems, throughputProblems("", t.BillingMode, t.ProvisionedThroughput, t.WarmThroughput)...)
	return append(problems, t.tagProblems()...)
}

// settingsProblems lists what is wrong with how the index is to be operated in a
// table of that billing mode.
func (x Index) settingsProblems(where string, mode types.BillingMode) []string {
	if !x.Local {
		return throughputProblems(where+".", mode, x.ProvisionedThroughput, x.WarmThroughput)
	}
	var problems []string
	if x.ProvisionedThroughput != (Throughput{}) {
		problems = append(problems, where+".ProvisionedThroughput: a local index has that of the table")
	}
	if x.WarmThroughput != (Throughput{}) {
		problems = append(problems, where+".WarmThroughput: a local index has that of the table")
	}
	return problems
}

func throughputProblems(where string, mode types.BillingMode, provisioned, warm Throughput) []string {
	var problems []string
	switch {
	case mode != types.BillingModeProvisioned && provisioned != (Throughput{}):
		problems = append(problems, where+"ProvisionedThroughput: needs the billing mode PROVISIONED")
	case mode == types.BillingModeProvisioned && (provisioned.Read < 1 || provisioned.Write < 1):
		problems = append(problems, fmt.Sprintf("%sProvisionedThroughput: %d read and %d write units, PROVISIONED needs at least 1 of each",
			where, provisioned.Read, provisioned.Write))
	}
	if warm.Read < 0 || warm.Write < 0 {
		problems = append(problems, fmt.Sprintf("%sWarmThroughput: %d read and %d write units, must not be negative",
			where, warm.Read, warm.Write))
	}
	return problems
}

// oneOf adds a problem unless the value is empty or one of the given values.
func oneOf[T ~string](problems []string, field string, value T, values []T) []string {
	if value == "" || slices.Contains(values, value) {
		return problems
	}
	return append(problems, fmt.Sprintf("%s: %q is not one of %q", field, string(value), values))
}

func (t Table) tagProblems() []string {
	var problems []string
	if len(t.Tags) > maxTags {
		problems = append(problems, fmt.Sprintf("Tags: are %d, DynamoDB allows %d", len(t.Tags), maxTags))
	}
	for _, key := range slices.Sorted(maps.Keys(t.Tags)) {
		value := t.Tags[key]
		if n := utf8.RuneCountInString(key); n < 1 || n > maxTagKey || !tagText(key) {
			problems = append(problems, fmt.Sprintf("Tags: the key %q is not 1 to %d letters, digits, spaces and _.:/=+-@", key, maxTagKey))
		}
		if len(key) >= len(reservedTag) && strings.EqualFold(key[:len(reservedTag)], reservedTag) {
			problems = append(problems, fmt.Sprintf("Tags: the key %q begins with %q, which AWS reserves", key, reservedTag))
		}
		if utf8.RuneCountInString(value) > maxTagValue || !tagText(value) {
			problems = append(problems, fmt.Sprintf("Tags[%q]: is not at most %d letters, digits, spaces and _.:/=+-@", key, maxTagValue))
		}
	}
	return problems
}

// reservedTag begins the keys of tags that only AWS can set.
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
