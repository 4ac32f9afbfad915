package repo

import (
	"slices"
	"strconv"
	"strings"
	"time"

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
	// Attributes are the types that DynamoDB has of T's attributes. Times are "S time", "N
	// milliseconds", and N of seconds. Members of a map are address.city, and elements of a list lines[].
	Attributes map[string]string `json:"attributes"`
	// The keys are those of a sample value, as "partition key / sort key". An empty one is of an
	// item that is left out, and "?" of a function that panics with the sample.
	Key          string            `json:"key"`
	Indexes      map[string]string `json:"indexes,omitempty"`
	Copies       map[string]string `json:"copies,omitempty"`
	FormerCopies []string          `json:"formerCopies,omitempty"`
	Claims       []string          `json:"claims,omitempty"`
	// Counters have "attribute of OWNER at key".
	Counters map[string]string `json:"counters,omitempty"`
	// Samples are the items of each sample value. A missing copy is nil.
	Samples [][]table.Item `json:"-"`
}

// Form returns the stored form of the entity. It calls the entity's functions with the samples,
// and sends nothing. Without samples it makes some, in which the attribute name has the text
// {name}: then a key shows its attributes, as USER#{userId}. Give samples where a key needs
// values of its own, such as a status that is one of three, or a date.
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
		Upgraded: map[string]int{}, Attributes: map[string]string{},
	}
	for i, u := range c.entity.Upgrades {
		for _, name := range slices.Concat(u.Writes, u.Removes) {
			f.Upgraded[name] = c.shapes.oldest + i + 1
		}
	}
	made := []any{c.entity.sample(c.attributes, ""), c.entity.sample(c.attributes, "2")}
	if len(samples) == 0 {
		samples = made
	}
	for _, name := range c.attributes {
		f.Attributes[name] = "?" // if no sample can be encoded
	}
	for _, v := range append(samples, made[0]) {
		if attributes, err := c.encode(v); err == nil && (c.known || v != made[0]) {
			f.describe("", attributes)
		}
	}
	for _, name := range c.attributes {
		switch field, _ := item.FieldKind(c.entity.typ, name); {
		case field == nil:
		case f.Attributes[name] == "S" && (isTime(field) || isTableTime(field)):
			f.Attributes[name] = "S time"
		case field == unixMilliType:
			f.Attributes[name] = "N milliseconds"
		}
	}
	c.setKeys(&f, samples[0])
	for _, v := range samples {
		f.Samples = append(f.Samples, c.itemsOf(v))
	}
	return f
}

// sample returns a value that differs from the other ones in each attribute that can.
func (e *description) sample(attributes []string, suffix string) any {
	v := item.Sample(e.typ)
	for i, name := range attributes {
		n, _ := strconv.ParseInt(strconv.Itoa(i+2)+suffix, 10, 64)
		for _, value := range []types.AttributeValue{
			&types.AttributeValueMemberS{Value: "{" + name + "}" + suffix},
			&types.AttributeValueMemberS{Value: time.Unix(n, 0).UTC().Format(time.RFC3339)},
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

// describe adds attributes, or the members of a map.
func (f *Form) describe(path string, attributes table.Item) {
	for name, value := range attributes {
		for path := path + name; ; path += "[]" {
			p := item.ValueOf(value)
			f.Attributes[path] = p.Kind.String()
			f.describe(path+".", p.Map)
			if len(p.List) == 0 {
				break
			}
			value = p.List[0]
		}
	}
}

// setKeys sets all that functions make of a sample.
func (c *core) setKeys(f *Form, v any) {
	f.Indexes, f.Copies, f.Counters = map[string]string{}, map[string]string{}, map[string]string{}
	for i, of := range c.items {
		if i == 0 {
			f.Key = keyText(of.Key, v)
		} else {
			f.Copies[strings.TrimPrefix(of.Name, f.Type+" ")] = keyText(of.Key, v)
		}
		for index, key := range of.Indexes {
			f.Indexes[index] = keyText(key, v)
		}
	}
	for _, key := range c.entity.FormerCopies {
		f.FormerCopies = append(f.FormerCopies, keyText(key, v))
	}
	if c.entity.Claims != nil {
		_, ok := try(func(v any) keys.Key {
			for _, key := range c.entity.Claims(v) {
				f.Claims = append(f.Claims, keyText(func(any) keys.Key { return key }, v))
			}
			return keys.Key{}
		}, v)
		if !ok {
			f.Claims = []string{"?"}
		}
	}
	for _, x := range c.entity.Counters {
		f.Counters[x.Name] = x.Attribute + " of " + x.Owner + " at " + keyText(x.Key, v)
	}
}

// keyText returns the key that a function makes of a sample.
func keyText(f keyFunc, v any) string {
	switch key, ok := try(f, v); {
	case !ok:
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
