// Package telling ranks the attributes of items by how much they say in a list for people:
// names and states first, then amounts and times, and last what is random or repeats the
// keys.
package telling

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/edit"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Rank orders attributes by how much they say in a list. The least says the most.
type Rank int

// The ranks.
const (
	Made   Rank = iota // The key of the index is made of it.
	Name               // what people call it
	State              // a status
	Person             // how to reach a person
	Much               // an amount
	When               // a time
	Plain              // another text or number
	Nested             // a map, a list or a set
	Alike              // It is the same in two or three rows, which can be by chance. The rank from Made to Nested is added.
)

// The ranks of attributes that a list need not have.
const (
	Keyed = 2*Alike + iota // The keys next to it say the same.
	Noise                  // It is random, or has no text.
	Same                   // It is the same in all rows.
)

// words are parts of the names of attributes that tell items apart.
var words = map[string]Rank{
	"name": Name, "title": Name, "subject": Name, "status": State, "state": State,
	"email": Person, "mail": Person, "phone": Person,
	"total": Much, "amount": Much, "price": Much, "cents": Much, "balance": Much, "quantity": Much, "count": Much,
	"revision": Noise, "etag": Noise, "hash": Noise, "checksum": Noise, "signature": Noise,
}

// rankOfName returns the rank that an attribute has by the words of its name.
func rankOfName(name string) Rank {
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
		case byName == Plain && isTime(v.Value):
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

func isTime(text string) bool {
	if len(text) > len(time.RFC3339Nano) {
		return false
	}
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

// manyRows is how many items of a type a list has at least for equal values to mean that
// they tell nothing apart. Two or three can be equal by chance.
const manyRows = 4

// Ranks returns the ranks of the attributes of items of one type. keyed are the names of the
// attributes next to which the others are shown, and made those that the key of the index is
// made of.
func Ranks(items []table.Item, keyed, made []string) map[string]Rank {
	ranks := map[string]Rank{}
	for _, item := range items {
		shown := keySegments(item, keyed)
		for name, value := range item {
			r := rankOf(name, value)
			if r < Keyed && shown[segmentOf(value)] {
				r = Keyed
			}
			// One telling value is enough.
			if before, ok := ranks[name]; !ok || r < before {
				ranks[name] = r
			}
		}
	}
	for name := range ranks {
		same := len(items) > 1 && !slices.ContainsFunc(items, func(i table.Item) bool { return !edit.Equal(i[name], items[0][name]) })
		switch {
		case slices.Contains(made, name):
			ranks[name] = Made
		case same && (len(items) >= manyRows || ranks[name] >= Keyed):
			ranks[name] = Same
		case same:
			ranks[name] += Alike
		}
	}
	return ranks
}

// keySegments returns the segments of the keys of an item.
func keySegments(item table.Item, keyed []string) map[string]bool {
	all := map[string]bool{}
	for _, name := range keyed {
		switch v := item[name].(type) {
		case *types.AttributeValueMemberS:
			for stored := range strings.SplitSeq(v.Value, "#") {
				if parts, err := keys.Parse(stored); err == nil {
					stored = parts[0]
				}
				all[segmentOf(&types.AttributeValueMemberS{Value: stored})] = true
			}
		case *types.AttributeValueMemberN:
			all[v.Value] = true
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
