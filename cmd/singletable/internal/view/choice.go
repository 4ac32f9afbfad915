package view

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/edit"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// choice says which attributes a list of items shows at once: those that tell its items
// apart. It is made of the items of the list, for each type by itself.
type choice struct {
	of    *state
	ranks map[string]map[string]rank
	// made are the attributes that the keys of the index are made of, by type. A list of
	// the index shows them first, whatever they are.
	made map[string][]string
}

// rank orders attributes by how much they say in a list. The least says the most.
type rank int

const (
	rankMade   rank = iota // The key of the index is made of it.
	rankName               // what people call it
	rankState              // a status
	rankPerson             // how to reach a person
	rankMuch               // an amount
	rankWhen               // a time
	rankPlain              // another text or number
	rankNested             // a map, a list or a set
	rankKeyed              // The keys next to it say the same.
	rankNoise              // It is random, has no text, or is the same in all rows.
)

// words are parts of the names of attributes that tell items apart.
var words = map[string]rank{
	"name": rankName, "title": rankName, "subject": rankName, "status": rankState, "state": rankState,
	"email": rankPerson, "mail": rankPerson, "phone": rankPerson,
	"total": rankMuch, "amount": rankMuch, "price": rankMuch, "cents": rankMuch, "balance": rankMuch, "quantity": rankMuch, "count": rankMuch,
	"revision": rankNoise, "etag": rankNoise, "hash": rankNoise, "checksum": rankNoise, "signature": rankNoise,
}

// rankOfName returns the rank that an attribute has by the words of its name.
func rankOfName(name string) rank {
	found := rankPlain
	for _, word := range wordsOf(name) {
		if r, ok := words[word]; ok && (found == rankPlain || r < found) {
			found = r
		}
	}
	return found
}

// wordsOf takes a name such as totalCents or total_cents apart, in lower case.
func wordsOf(name string) []string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if lower && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		if !unicode.IsLetter(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}

// random are texts that no person reads: identifiers, revisions and hashes.
var random = regexp.MustCompile(`^(?:[0-9A-HJKMNP-TV-Z]{26}|[A-Z2-7]{26}|[0-9a-fA-F]{16,}|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|[0-9]{20,})$`)

// opaque are texts in the alphabets of base64.
var opaque = regexp.MustCompile(`^[A-Za-z0-9+/_-]{22,}={0,2}$`)

// isRandom reports whether a text is an identifier or a hash.
func isRandom(text string) bool {
	if random.MatchString(text) {
		return true
	}
	// A long word has few digits.
	digits := strings.IndexFunc(text, unicode.IsDigit) >= 0
	upper := strings.IndexFunc(text, unicode.IsUpper) >= 0
	lower := strings.IndexFunc(text, unicode.IsLower) >= 0
	return digits && upper && lower && opaque.MatchString(text)
}

// rankOf returns the rank of an attribute with a value.
func rankOf(name string, value types.AttributeValue) rank {
	byName := rankOfName(name)
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		switch {
		case v.Value == "" || isRandom(v.Value):
			return rankNoise
		case byName == rankPlain && isTime(v.Value):
			return rankWhen
		}
	case *types.AttributeValueMemberN:
		switch _, when := timeOfNumber(name, v.Value); {
		case isRandom(v.Value):
			return rankNoise
		case when && byName == rankPlain:
			return rankWhen
		}
	case *types.AttributeValueMemberBOOL:
	case *types.AttributeValueMemberNULL, *types.AttributeValueMemberB, *types.AttributeValueMemberBS:
		return rankNoise
	default:
		return max(byName, rankNested)
	}
	return byName
}

func isTime(text string) bool {
	if len(text) > len(time.RFC3339Nano) {
		return false
	}
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

// newChoice returns the choice for the items of a list of the table or an index.
func (s *state) newChoice(l layout, items []table.Item) choice {
	c := choice{of: s, ranks: map[string]map[string]rank{}, made: map[string][]string{}}
	byType := map[string][]table.Item{}
	for _, item := range items {
		byType[s.typeOf(item)] = append(byType[s.typeOf(item)], item)
	}
	_, model := s.types()
	for _, e := range model.Entities {
		for _, p := range e.Items {
			in := p.Indexes[l.Index]
			c.made[e.Type] = append(c.made[e.Type], patternNames(in.PK+"#"+in.SK)...)
		}
	}
	for kind, of := range byType {
		c.ranks[kind] = s.ranks(of, c.made[kind])
	}
	return c
}

// manyRows is how many items of a type a list has at least for equal values to mean that
// they tell nothing apart. Two or three can be equal by chance.
const manyRows = 4

// ranks returns the ranks of the attributes of items of one type.
func (s *state) ranks(items []table.Item, made []string) map[string]rank {
	ranks := map[string]rank{}
	for _, item := range items {
		shown := s.keySegments(item)
		for name, value := range item {
			r := rankOf(name, value)
			if r < rankKeyed && shown[segmentOf(value)] {
				r = rankKeyed
			}
			// One telling value is enough.
			if before, ok := ranks[name]; !ok || r < before {
				ranks[name] = r
			}
		}
	}
	for name := range ranks {
		same := len(items) >= manyRows && !slices.ContainsFunc(items, func(i table.Item) bool { return !edit.Equal(i[name], items[0][name]) })
		switch {
		case slices.Contains(made, name):
			ranks[name] = rankMade
		case same:
			ranks[name] = rankNoise
		}
	}
	return ranks
}

// keySegments returns the segments of all keys of an item.
func (s *state) keySegments(item table.Item) map[string]bool {
	all := map[string]bool{}
	key := s.table.KeyOf("", item)
	for _, text := range []string{string(key.PK), string(key.SK)} {
		for stored := range strings.SplitSeq(text, "#") {
			if parts, err := keys.Parse(stored); err == nil {
				stored = parts[0]
			}
			all[segmentOf(&types.AttributeValueMemberS{Value: stored})] = true
		}
	}
	delete(all, "")
	return all
}

// segmentOf returns a value as it is compared with segments of keys, "" if it cannot be one.
func segmentOf(value types.AttributeValue) string {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		if t, err := time.Parse(time.RFC3339, v.Value); err == nil {
			return t.UTC().Format(time.RFC3339Nano)
		}
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

// patternNames returns the names of the attributes in a pattern of keys.
func patternNames(pattern string) (names []string) {
	pattern = strings.NewReplacer("{{", "", "}}", "").Replace(pattern)
	for _, found := range patternName.FindAllStringSubmatch(pattern, -1) {
		names = append(names, found[1])
	}
	return names
}

// patternName is an attribute in a pattern. One of digits only stands for text that varies.
var patternName = regexp.MustCompile(`\{([^{}:]*[^{}:0-9][^{}:]*)(?::[^{}]*)?\}`)

// order returns the names of an item's attributes by their ranks. The list shows first of
// them at once. The key of the index is made of the first made ones.
func (c choice) order(item table.Item) (names []string, first, made int) {
	ranks := c.ranks[c.of.typeOf(item)]
	hidden := c.of.special(item)
	for _, name := range slices.Sorted(maps.Keys(item)) {
		if !hidden[name] {
			names = append(names, name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return int(ranks[a] - ranks[b]) })
	for _, name := range names {
		r := ranks[name]
		if r == rankMade {
			made++
		}
		if r == rankMade || r < rankKeyed && first < firstAttributes {
			first++
		}
	}
	return names, first, made
}

// special returns the attributes that a list does not show among the others: the type and
// the expiry, which it shows elsewhere, the key of the table, the owner of a claim, and the
// attributes that exist for the key of an index only.
func (s *state) special(item table.Item) map[string]bool {
	hidden := map[string]bool{s.schema.Type: true, s.schema.TTL: true}
	for _, l := range s.layouts {
		for _, a := range l.keys() {
			if l.Index == "" || madeForIndex(a.Name, item[a.Name]) {
				hidden[a.Name] = true
			}
		}
	}
	for _, name := range s.ownerAttributes(item) {
		hidden[name] = true
	}
	return hidden
}

// keyName are names of attributes that exist for the key of an index.
var keyName = regexp.MustCompile(`(?i)^(?:gsi|lsi)[-_]?\d*|[-_]?[ps]k\d*$`)

// madeForIndex reports whether a key attribute of an index says nothing of its own.
func madeForIndex(name string, value types.AttributeValue) bool {
	text, ok := value.(*types.AttributeValueMemberS)
	return keyName.MatchString(name) || ok && strings.Contains(text.Value, "#")
}

// telling says how much the items of a type say to a person: whether their attributes are
// those of persons, names, states and amounts.
func telling(items []table.Item) int {
	best := 0
	for _, item := range items {
		n := 0
		for name, value := range item {
			switch rankOf(name, value) {
			case rankPerson:
				n += 3
			case rankName, rankState:
				n += 2
			case rankMuch:
				n++
			}
		}
		best = max(best, n)
	}
	return best
}
