package tablemodel

import (
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
)

// place is the first segment of a key that has so many of them.
type place struct {
	segments int
	text     string
}

func placeOf(segments []string) place { return place{len(segments), segments[0]} }

// mostPrefixes is how many texts can be prefixes in one place of one type. Where
// there are more, they are identifiers.
const mostPrefixes = 8

// prefixes returns which of the first segments of a key attribute are prefixes.
func (in inference) prefixes(k keyAttribute, items []table.Item) map[place]bool {
	all := map[place]bool{}
	if k.kind != types.ScalarAttributeTypeS {
		return all
	}
	for segments, samples := range bySegments(k, items) {
		texts, partitions := in.firstSegments(k, samples)
		if in.isAttribute(texts, samples, len(partitions)) {
			continue
		}
		for text, is := range in.prefixesAmong(partitions, segments) {
			all[place{segments, text}] = is
		}
	}
	return all
}

// bySegments groups items by how many segments a key attribute has.
func bySegments(k keyAttribute, items []table.Item) map[int][]table.Item {
	groups := map[int][]table.Item{}
	for _, item := range items {
		if segments, ok := segmentsOf(item[k.name]); ok {
			groups[len(segments)] = append(groups[len(segments)], item)
		}
	}
	return groups
}

// firstSegments returns the first segments of a key attribute, and for each of their texts
// the partition keys of the samples that it is of.
func (in inference) firstSegments(k keyAttribute, samples []table.Item) (texts []string, partitions map[string]map[string]bool) {
	texts, partitions = make([]string, len(samples)), map[string]map[string]bool{}
	for i, item := range samples {
		segments, _ := segmentsOf(item[k.name])
		texts[i] = segments[0]
		if partitions[texts[i]] == nil {
			partitions[texts[i]] = map[string]bool{}
		}
		partitions[texts[i]][keyText(item[in.schema.PK])] = true
	}
	return texts, partitions
}

// prefixesAmong reports for each first segment of keys whether it is a prefix, given
// the partitions that it is found in. The keys have so many segments.
func (in inference) prefixesAmong(partitions map[string]map[string]bool, segments int) map[string]bool {
	upper, shared := 0, true
	for text, of := range partitions {
		switch {
		case isUpper(text):
			upper++
		case !sharable(text) || len(of) < 2:
			shared = false
		}
	}
	// A whole key that partitions share is a constant only if it is the one.
	shared = shared && (len(partitions)-upper == 1 || segments > 1)
	all := make(map[string]bool, len(partitions))
	for text := range partitions {
		switch {
		case text == "":
			all[text] = true
		case isUpper(text):
			all[text] = upper <= mostPrefixes || text == in.kind
		default:
			all[text] = shared && len(partitions)-upper <= mostPrefixes
		}
	}
	return all
}

// isAttribute reports whether the first segments of a key are the values of an
// attribute and no prefixes. Samples that all have the same text do not tell.
func (in inference) isAttribute(texts []string, samples []table.Item, different int) bool {
	if different == 1 && (texts[0] == in.kind || len(samples) > 1 && isUpper(texts[0])) {
		return false
	}
	_, ok := in.attribute(texts, samples, "", types.ScalarAttributeTypeS, func(string) bool { return false })
	return ok
}

// isUpper reports whether a segment looks like a prefix: letters A to Z, with -
// and _ between them and at most two digits at the end. Other digits are a sign of
// an identifier.
func isUpper(text string) bool {
	word := strings.TrimRight(text, "0123456789")
	if len(text)-len(word) > 2 || word == "" || word[0] < 'A' || word[0] > 'Z' {
		return false
	}
	return strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-") == ""
}

// sharable reports whether a segment can be a constant because samples share it. A
// number is not: it may be that of a shard. Nor is a time.
func sharable(text string) bool {
	return utf8.ValidString(text) && !isTime(text) && (text == "" || !digits(text))
}
