// Package telling chooses the attributes that a list of items shows: those that differ, names
// and states before amounts and times, and last what the keys next to them say already.
package telling

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/counted"
	"github.com/singletable/singletable/cmd/singletable/internal/edit"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
)

// Rank orders attributes by how much they say in a list. The least says the most.
type Rank int

// The ranks of attributes that differ.
const (
	Name   Rank = iota // what people call them
	State              // a status
	Person             // how to reach a person
	Much               // an amount
	When               // a time
	Plain              // another text or number
	Nested             // a map, a list or a set
	Noise              // No person reads it: it is random, or has no text.
)

// The ranks of the others.
const (
	Alike = Noise + 1 + iota // It is the same in two or three rows, which can be by chance. Its other rank is added.
	Keyed = 2*Alike + iota   // The keys next to it say the same.
	Same                     // It is the same in all rows.
	Own                      // It exists for an index, or for the library.
)

// words are parts of the names of attributes that tell items apart.
var words = map[string]Rank{
	"name": Name, "title": Name, "subject": Name, "status": State, "state": State,
	"email": Person, "mail": Person, "phone": Person,
	"total": Much, "amount": Much, "price": Much, "cents": Much, "balance": Much, "quantity": Much, "count": Much,
	"revision": Noise, "version": Noise, "etag": Noise, "hash": Noise, "checksum": Noise, "signature": Noise,
}

// rankOfName returns the rank that an attribute has by the words of its name. Libraries begin
// the names of what is theirs with a low line.
func rankOfName(name string) Rank {
	if strings.HasPrefix(name, "_") {
		return Noise
	}
	found := Plain
	for _, word := range wordsOf(name) {
		if r, ok := words[word]; ok && (found == Plain || r < found) {
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

// TimeOfNumber returns the time of a number of seconds or milliseconds since 1970, of an
// attribute whose name says that it is a time. It is not ok before 2000 and after 2100,
// where numbers are counts.
func TimeOfNumber(name, number string) (t time.Time, ok bool) {
	all := wordsOf(name)
	if len(all) == 0 || !slices.Contains([]string{"at", "time", "date", "timestamp", "until", "since", "expires", "on"}, all[len(all)-1]) {
		return t, false
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return t, false
	}
	const from, to = 946684800, 4102444800
	switch {
	case n >= from && n < to:
		return time.Unix(n, 0), true
	case n >= from*1000 && n < to*1000:
		return time.UnixMilli(n), true
	}
	return t, false
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
func rankOf(name string, value types.AttributeValue) Rank {
	byName := rankOfName(name)
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		switch {
		case v.Value == "" || isRandom(v.Value):
			return Noise
		case byName == Plain && isTimeText(v.Value):
			return When
		}
	case *types.AttributeValueMemberN:
		switch _, when := TimeOfNumber(name, v.Value); {
		case isRandom(v.Value):
			return Noise
		case when && byName == Plain:
			return When
		}
	case *types.AttributeValueMemberBOOL:
	case *types.AttributeValueMemberNULL, *types.AttributeValueMemberB, *types.AttributeValueMemberBS:
		return Noise
	default:
		return max(byName, Nested)
	}
	return byName
}

func isTimeText(text string) bool {
	if len(text) > len(time.RFC3339Nano) {
		return false
	}
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

// manyRows is how many items of a type a list has at least for equal values to mean that
// they tell nothing apart. Two or three can be equal by chance.
const manyRows = 4

// Choice says which attributes a list shows first, for each type by itself.
type Choice struct {
	spec   schema.Table
	typeOf func(table.Item) string
	own    map[string]bool
	ranks  map[string]map[string]Rank
}

// Choose returns the choice for the items of a list. keyed are the names of the key attributes
// that the list shows next to the others, or has in its title. typeOf returns the type of an
// item, "" for none.
func Choose(spec schema.Table, items []table.Item, typeOf func(table.Item) string, keyed []string) Choice {
	spec = spec.WithDefaults()
	c := Choice{spec: spec, typeOf: typeOf, own: map[string]bool{}, ranks: map[string]map[string]Rank{}}
	for _, name := range []string{spec.TypeAttribute, spec.Shape, spec.ShapeFrom(), spec.ShapeAt(), counted.Attribute} {
		c.own[name] = true
	}
	byType := map[string][]table.Item{}
	for _, item := range items {
		byType[typeOf(item)] = append(byType[typeOf(item)], item)
	}
	for kind, of := range byType {
		c.ranks[kind] = ranks(of, keyed)
	}
	return c
}

// Order returns the names of the attributes of an item of the list, except for some: those that
// tell it apart first.
func (c Choice) Order(item table.Item, except map[string]bool) []string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(item)), func(name string) bool { return except[name] })
	slices.SortStableFunc(names, func(a, b string) int { return int(c.Rank(item, a) - c.Rank(item, b)) })
	return names
}

// Rank returns the rank of an attribute of an item of the list.
func (c Choice) Rank(item table.Item, name string) Rank {
	if c.own[name] || c.isKey(name) && MadeForIndex(name, item[name]) {
		return Own
	}
	return c.ranks[c.typeOf(item)][name]
}

func (c Choice) isKey(name string) bool {
	return slices.ContainsFunc(c.spec.Indexes, func(x schema.Index) bool {
		pk, sk := x.Keys()
		return slices.ContainsFunc(slices.Concat(pk, sk), func(a schema.Attribute) bool { return a.Name == name })
	})
}

// ranks returns those of the attributes of items of one type.
func ranks(items []table.Item, keyed []string) map[string]Rank {
	all := map[string]Rank{}
	for _, item := range items {
		said := keysOf(item, keyed)
		for name, value := range item {
			r := rankOf(name, value)
			// The amount of one item can be a number of its key by chance.
			if (r != Much || len(items) > 1) && slices.ContainsFunc(forms(name, value), said.says) {
				r = Keyed
			}
			// One telling value is enough.
			if before, ok := all[name]; !ok || r < before {
				all[name] = r
			}
		}
	}
	for name := range all {
		same := len(items) > 1 && !slices.ContainsFunc(items, func(i table.Item) bool { return !edit.Equal(i[name], items[0][name]) })
		switch {
		case all[name] == Keyed:
		case same && len(items) >= manyRows:
			all[name] = Same
		case same:
			all[name] += Alike
		}
	}
	return all
}

// keyTexts are the keys of an item in one form: without escapes, in lower case, numbers without
// zeros in front.
type keyTexts []string

func keysOf(item table.Item, names []string) (all keyTexts) {
	for _, name := range names {
		switch v := item[name].(type) {
		case *types.AttributeValueMemberS:
			var segments []string
			for stored := range strings.SplitSeq(v.Value, "#") {
				if parts, err := keys.Parse(stored); err == nil {
					stored = parts[0]
				}
				segments = append(segments, oneForm(stored))
			}
			all = append(all, strings.Join(segments, "#"))
		case *types.AttributeValueMemberN:
			all = append(all, v.Value)
		}
	}
	return all
}

// separators are between the parts of keys.
const separators = "#_|/:=,"

// says reports whether one of the keys has a text as a part.
func (all keyTexts) says(text string) bool {
	return slices.ContainsFunc(all, func(key string) bool {
		for at := 0; ; at++ {
			i := strings.Index(key[at:], text)
			if i < 0 {
				return false
			}
			at += i
			end := at + len(text)
			if (at == 0 || strings.ContainsRune(separators, rune(key[at-1]))) &&
				(end == len(key) || strings.ContainsRune(separators, rune(key[end]))) {
				return true
			}
		}
	})
}

// padding are the zeros in front of a number.
var padding = regexp.MustCompile(`(^|[^0-9.])0+([0-9])`)

func oneForm(text string) string {
	return padding.ReplaceAllString(strings.ToLower(text), "$1$2")
}

// forms returns the texts that a key can have of a value: a time in a key has milliseconds. It
// returns none for a value that cannot be in a key. A text that is a time is not said by a number.
func forms(name string, value types.AttributeValue) (all []string) {
	var at time.Time
	isTime := false
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		if v.Value == "" {
			return nil
		}
		all = append(all, oneForm(v.Value))
		if isTime = isTimeText(v.Value); isTime {
			at, _ = time.Parse(time.RFC3339, v.Value)
		}
	case *types.AttributeValueMemberN:
		all = append(all, v.Value)
		at, isTime = TimeOfNumber(name, v.Value)
	}
	if isTime {
		at = at.UTC()
		for _, text := range []string{keys.Time(at).String(), at.Format(time.RFC3339), at.Format(time.RFC3339Nano)} {
			all = append(all, oneForm(text))
		}
	}
	return all
}

// keyName are names of attributes that exist for the key of an index.
var keyName = regexp.MustCompile(`(?i)^(?:gsi|lsi)[-_]?\d*|[-_]?[ps]k\d*$`)

// MadeForIndex reports whether a key attribute of an index says nothing of its own.
func MadeForIndex(name string, value types.AttributeValue) bool {
	text, ok := value.(*types.AttributeValueMemberS)
	return keyName.MatchString(name) || ok && strings.Contains(text.Value, "#")
}

// Score says how much the items of a type say to a person: whether their attributes are
// those of persons, names, states and amounts.
func Score(items []table.Item) int {
	best := 0
	for _, item := range items {
		n := 0
		for name, value := range item {
			switch rankOf(name, value) {
			case Person:
				n += 3
			case Name, State:
				n += 2
			case Much:
				n++
			}
		}
		best = max(best, n)
	}
	return best
}
