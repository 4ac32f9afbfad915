package repo

import (
	"hash/fnv"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
)

// Form is the stored form of an entity: what items of earlier releases must fit. Package repotest
// keeps it in a file, and fails a test when it changes without an upgrade.
type Form struct {
	Type    string `json:"type"`
	Version string `json:"version,omitempty"`
	// Shape is what the program writes, and OldestShape the oldest that it reads.
	Shape       int `json:"shape,omitempty"`
	OldestShape int `json:"oldestShape,omitempty"`
	// Upgraded are the attributes that Upgrades write or remove, with the last shape for which
	// one does.
	Upgraded map[string]int `json:"upgraded,omitempty"`
	// Attributes are the types that DynamoDB has of T's attributes, and what a field holds of them:
	// "N int64", "N seconds", "N milliseconds", "S time", "L [3]", and any of an interface. Members
	// of a struct are address.city, those of a map prices.*, and elements of a list lines[].
	Attributes map[string]string `json:"attributes"`
	// Counted, and the Constants and UniqueType of Shared, are as in the entity.
	Counted    []string          `json:"counted,omitempty"`
	Constants  map[string]string `json:"constants,omitempty"`
	UniqueType string            `json:"uniqueType,omitempty"`
	// Keys are those of three samples that Form makes, and then of each that it is given.
	Keys []FormKeys `json:"keys"`
	// Samples are the items of each sample value. A missing copy is nil.
	Samples [][]table.Item `json:"-"`
}

// FormKeys are the keys that functions of an entity make of a sample value, as "partition key /
// sort key". An empty one is of an item that is left out, and "?" of a function that panics with
// the sample, or makes no valid key of it.
type FormKeys struct {
	Key          string            `json:"key"`
	Indexes      map[string]string `json:"indexes,omitempty"`
	Copies       map[string]string `json:"copies,omitempty"`
	FormerCopies []string          `json:"formerCopies,omitempty"`
	// Claims and Unique are sorted.
	Claims []string `json:"claims,omitempty"`
	Unique []string `json:"unique,omitempty"`
	// Counters have "attribute of OWNER at key".
	Counters map[string]string `json:"counters,omitempty"`
}

// Form returns the stored form of the entity. It calls the entity's functions with the samples,
// and with three that it makes, and sends nothing. In the first, the attribute name has the text
// {name}: then a key shows its attributes, as USER#{userId}. Give samples where a key needs
// values of its own, such as a status that is one of three. Add others behind them.
func (r *Repo[T]) Form(samples ...T) Form {
	all := make([]any, len(samples))
	for i := range samples {
		all[i] = &samples[i]
	}
	return r.core.form(all)
}

func (c *core) form(samples []any) Form {
	f := Form{
		Type: c.entity.Type, Version: c.entity.Version, Shape: c.shapes.current, OldestShape: c.shapes.oldest,
		Upgraded: map[string]int{}, Attributes: map[string]string{}, Counted: c.entity.Counted,
		Constants: c.entity.shared.Constants, UniqueType: c.entity.shared.UniqueType,
	}
	for i, u := range c.entity.Upgrades {
		for _, name := range slices.Concat(u.Writes, u.Removes) {
			f.Upgraded[name] = c.shapes.oldest + i + 1
		}
	}
	var made []any
	if c.known || len(samples) == 0 { // a map has what the program gives it
		made = []any{c.entity.sample(c.attributes, 0), c.entity.sample(c.attributes, 1), c.entity.sample(c.attributes, 2)}
	}
	for _, name := range c.attributes {
		f.Attributes[name] = "?" // if no sample can be encoded
	}
	for _, v := range slices.Concat(samples, made) {
		if attributes, err := c.encode(v); err == nil {
			f.describe("", c.entity.typ, attributes)
		}
	}
	for _, v := range slices.Concat(made, samples) {
		f.Keys = append(f.Keys, c.formKeys(v))
	}
	if len(samples) == 0 {
		samples = made[:2] // a separator would be taken for two parts of a key
	}
	for _, v := range samples {
		f.Samples = append(f.Samples, c.itemsOf(v))
	}
	return f
}

// sample returns one of three values that differ in each attribute that can. What it has of an
// attribute follows from the name, so that another attribute changes no key. The second and third
// show what a key makes of upper case, of milliseconds and of a separator.
func (e *description) sample(attributes []string, nth int) any {
	v := item.Sample(e.typ)
	for _, name := range attributes {
		h := fnv.New32a()
		h.Write([]byte(name))
		// Two digits, for narrow fields and keys.
		n, text, fraction := 10+int64(h.Sum32()%80), "{"+name+"}", time.Duration(0)
		if nth > 0 {
			n, text, fraction = 10+(n-10+1+int64(h.Sum32()/80%79))%80, strings.ToUpper(name)+"2", 678*time.Millisecond
		}
		if nth > 1 {
			text = name + "#3"
		}
		for _, value := range []types.AttributeValue{
			&types.AttributeValueMemberS{Value: text},
			&types.AttributeValueMemberS{Value: time.Unix(n*10_000_019, 0).UTC().Add(fraction).Format(time.RFC3339Nano)},
			&types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)},
		} {
			if item.Assign(e.zero(), name, value) { // a failure would leave the zero value in v
				item.Assign(v, name, value)
				break
			}
		}
	}
	return v
}

// describe adds attributes, or the members of a map, of a type that is nil if it is not known.
func (f *Form) describe(path string, of reflect.Type, attributes table.Item) {
	for name, value := range attributes {
		typ := memberType(of, name)
		if path != "" && of != nil && of.Kind() == reflect.Map {
			name = "*"
		}
		for path := path + name; ; path += "[]" {
			p := item.ValueOf(value)
			f.Attributes[path] = formOf(p.Kind, typ)
			if f.Attributes[path] == anything {
				break
			}
			f.describe(path+".", typ, p.Map)
			if len(p.List) == 0 {
				break
			}
			value, typ = p.List[0], elementType(typ)
		}
	}
}

// formKeys returns all that functions make of a sample.
func (c *core) formKeys(v any) FormKeys {
	f := FormKeys{Indexes: map[string]string{}, Copies: map[string]string{}, Counters: map[string]string{}}
	for i, of := range c.items {
		if i == 0 {
			f.Key = keyText(of.Key, v)
		} else {
			f.Copies[strings.TrimPrefix(of.Name, c.entity.Type+" ")] = keyText(of.Key, v)
		}
		for index, key := range of.Indexes {
			f.Indexes[index] = keyText(key, v)
		}
	}
	for _, key := range c.entity.FormerCopies {
		f.FormerCopies = append(f.FormerCopies, keyText(key, v))
	}
	f.Claims, f.Unique = keyTexts(c.entity.Claims, v), keyTexts(c.entity.shared.Unique, v)
	for _, x := range c.entity.Counters {
		f.Counters[x.Name] = x.Attribute + " of " + x.Owner + " at " + keyText(x.Key, v)
	}
	return f
}

// keyTexts returns the keys that a function makes of a sample, sorted.
func keyTexts(f func(any) []keys.Key, v any) (texts []string) {
	if f == nil {
		return nil
	}
	_, ok := try(func(v any) keys.Key {
		for _, key := range f(v) {
			texts = append(texts, keyText(func(any) keys.Key { return key }, v))
		}
		return keys.Key{}
	}, v)
	if !ok {
		return []string{"?"}
	}
	slices.Sort(texts)
	return texts
}

// keyText returns the key that a function makes of a sample.
func keyText(f keyFunc, v any) string {
	switch key, ok := try(f, v); {
	case !ok, !utf8.ValidString(string(key.PK + keys.PK(key.SK))): // as of a number that is too wide
		return "?"
	case key.SK == "":
		return string(key.PK)
	default:
		return string(key.PK) + " / " + string(key.SK)
	}
}

// itemsOf returns the items in which v is stored, nil for those that cannot be made of it.
func (c *core) itemsOf(v any) []table.Item {
	all := make([]table.Item, len(c.items))
	for i, of := range c.items {
		if key, ok := try(of.Key, v); ok && c.canHold(key) {
			all[i] = c.tryItem(i, key, v)
		}
	}
	return all
}

func (c *core) tryItem(i int, key keys.Key, v any) (made table.Item) {
	defer func() {
		if recover() != nil { // a function of an index, as Indexes says
			made = nil
		}
	}()
	attributes, err := c.encode(v)
	return c.made(i, key, v, attributes, c.stampIn(v), err).Item
}
