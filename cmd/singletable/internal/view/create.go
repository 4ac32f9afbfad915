package view

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/dynamojson"
	"github.com/singletable/singletable/cmd/singletable/internal/edit"
	"github.com/singletable/singletable/cmd/singletable/internal/telling"
	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tablemodel"
)

// creation is the page on which an item is made of the pattern of its type, or of JSON.
type creation struct {
	Action string
	Guard  string
	// Access is the pattern of the main item of the chosen type, nil if none is chosen.
	Access   *accessForm
	Accesses []access
	Text     string // the other attributes, or the whole item
	Problem  string
}

// create is the page of a type, or the choice of one.
func (s *server) create(v *visit) (*page, error) {
	c, err := s.newCreation(v)
	if err != nil {
		return nil, err
	}
	if c.Access != nil {
		c.Text = dynamoJSON(v.state.blank(c.Access, v.now))
	} else {
		c.Text = dynamoJSON(v.state.blankKey())
	}
	return c.page(), nil
}

func (s *server) newCreation(v *visit) (*creation, error) {
	if err := s.openTable(v, false); err != nil {
		return nil, err
	}
	st := v.state
	c := &creation{Action: st.root.address(st.schema.Name, "create", "of", v.FormValue("of")), Guard: s.formGuard()}
	for _, a := range st.accesses() {
		if a.main {
			a.Href = st.root.address(st.schema.Name, "create", "of", a.kind)
			c.Accesses = append(c.Accesses, a)
		}
	}
	if kind := v.FormValue("of"); kind != "" {
		var err error
		if c.Access, err = st.accessForm(v, kind, "0", ""); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *creation) page() *page {
	p := &page{Template: "create", Title: "Create an item", Content: c, At: "create"}
	if c.Problem != "" {
		p.Status = http.StatusBadRequest
	}
	return p
}

// propose shows the item of the form as it would be stored.
func (s *server) propose(v *visit) (*page, error) {
	if err := s.checkForm(v); err != nil {
		return nil, err
	}
	c, err := s.newCreation(v)
	if err != nil {
		return nil, err
	}
	c.Text = v.PostForm.Get("text")
	item, err := v.state.assemble(c)
	if err == nil {
		err = v.state.table.CheckItem(item)
	}
	if err != nil {
		return c.refused(err)
	}
	key := v.state.table.KeyOf("", item)
	_, err = table.Get[table.Item](v.Context(), v.state.table.Consistent(), key)
	switch {
	case err == nil:
		return c.refused(fmt.Errorf("%w: an item is stored under this key already", table.ErrInvalid))
	case !errors.Is(err, table.ErrNotFound):
		return nil, err
	}
	editor, err := s.editor(v.state)
	if err != nil {
		return nil, err
	}
	next := s.newChange(v, key)
	next.Text, next.Opened, next.Together = dynamoJSON(item), edit.Seen(nil), c.Access != nil
	w := writing{v: v, editor: editor, key: key, text: next.Text, together: next.Together}
	if err := w.plan(); err != nil {
		return c.refused(err)
	}
	return next.page(), next.review(v, w, "")
}

// refused returns the form with what is wrong with the item, and other errors as they are.
func (c *creation) refused(err error) (*page, error) {
	if !errors.Is(err, table.ErrInvalid) && !errors.Is(err, table.ErrTooLarge) && !errors.Is(err, keys.ErrInvalid) {
		return nil, err
	}
	c.Problem = escaped(err.Error())
	return c.page(), nil
}

// assemble returns the item of the form.
func (s *state) assemble(c *creation) (table.Item, error) {
	item, err := dynamojson.Decode(c.Text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", table.ErrInvalid, err)
	}
	f := c.Access
	if f == nil {
		return item, nil
	}
	pk, whole, err := f.key(f.pattern.PK, f.layout.Partition[0].Type)
	sk, wholeSK := "", true
	if err == nil && f.pattern.SK != "" {
		sk, wholeSK, err = f.key(f.pattern.SK, f.layout.Sort[0].Type)
	}
	switch {
	case err != nil:
		return nil, err
	case !whole || !wholeSK:
		return nil, fmt.Errorf("%w: the key needs all of its attributes", table.ErrInvalid)
	}
	texts, err := fromText(f.layout.keys(), []string{pk, sk})
	if err != nil {
		return nil, err
	}
	key, err := s.table.IndexKey("", keys.Key{PK: keys.PK(texts[0]), SK: keys.SK(texts[1])})
	if err != nil {
		return nil, err
	}
	samples := s.samplesOf(f.kind)
	for _, in := range f.Fields {
		value := strings.TrimSpace(in.Value)
		if in.of.Unknown() {
			continue // It is text of the key, and no attribute.
		}
		_, notNumber := strconv.ParseInt(value, 10, 64)
		_, isNumber := sample(samples, in.Name).(*types.AttributeValueMemberN)
		if isNumber || in.of.Form != "" && in.of.Escapes() && notNumber == nil {
			item[in.Name] = &types.AttributeValueMemberN{Value: value}
		} else {
			item[in.Name] = &types.AttributeValueMemberS{Value: value}
		}
	}
	if k := s.schema.KindOf(f.kind); k == nil {
		item[s.schema.TypeAttribute] = &types.AttributeValueMemberS{Value: f.kind}
	} else {
		for name, value := range k.Equal {
			item[name] = &types.AttributeValueMemberS{Value: value}
		}
	}
	if name := s.entity(f.kind).Version; name != "" && item[name] == nil {
		item[name] = &types.AttributeValueMemberN{Value: "1"}
		if _, number := sample(samples, name).(*types.AttributeValueMemberN); !number {
			item[name] = &types.AttributeValueMemberS{Value: "new"} // Its writer draws one.
		}
	}
	maps.Copy(item, key)
	return item, nil
}

// entity returns the entity of a type.
func (s *state) entity(kind string) tablemodel.Entity {
	_, model := s.types()
	if i := slices.IndexFunc(model.Entities, named(kind)); i >= 0 {
		return model.Entities[i]
	}
	return tablemodel.Entity{}
}

// sample returns the value of an attribute in the first item that has it.
func sample(items []table.Item, name string) types.AttributeValue {
	for _, item := range items {
		if v := item[name]; v != nil {
			return v
		}
	}
	return nil
}

// blankKey returns an item of the table with an empty key.
func (s *state) blankKey() table.Item {
	item := table.Item{}
	for _, a := range s.layouts[0].keys() {
		item[a.Name] = blankValue(&types.AttributeValueMemberS{})
		if a.Type == types.ScalarAttributeTypeN {
			item[a.Name] = blankValue(&types.AttributeValueMemberN{})
		}
		if a.Type == types.ScalarAttributeTypeB {
			item[a.Name] = &types.AttributeValueMemberB{Value: []byte{}}
		}
	}
	return item
}

// blank returns the attributes that all items of a type have which were read, without
// values. It leaves out those that the form has, and those that are made.
func (s *state) blank(f *accessForm, now time.Time) table.Item {
	item := table.Item{}
	samples := s.samplesOf(f.kind)
	if len(samples) == 0 {
		return item
	}
	version := s.entity(f.kind).Version
	made := s.schema.TypeAttribute
	if s.schema.KindOf(f.kind) != nil {
		made = "" // It is an attribute like others.
	}
	for name, v := range samples[0] {
		shown := blankValue(v)
		if name == s.schema.TTLAttribute {
			shown = &types.AttributeValueMemberN{Value: strconv.FormatInt(now.Add(24*time.Hour).Unix(), 10)}
		}
		everywhere := !slices.ContainsFunc(samples, func(i table.Item) bool { return i[name] == nil })
		if everywhere && shown != nil && name != version && name != made && !s.isKey(name, v) &&
			!slices.ContainsFunc(f.Fields, func(in accessField) bool { return in.Name == name }) {
			item[name] = shown
		}
	}
	return item
}

// isKey reports whether an attribute is the key of the table, or exists for an index only.
func (s *state) isKey(name string, v types.AttributeValue) bool {
	for _, l := range s.layouts {
		for _, a := range l.keys() {
			if a.Name == name && (l.Index == "" || telling.MadeForIndex(name, v)) {
				return true
			}
		}
	}
	return false
}

// blankValue returns an empty value of the same type, nil for a type that has none.
func blankValue(v types.AttributeValue) types.AttributeValue {
	switch v.(type) {
	case *types.AttributeValueMemberS:
		return &types.AttributeValueMemberS{}
	case *types.AttributeValueMemberN:
		return &types.AttributeValueMemberN{Value: "0"}
	case *types.AttributeValueMemberBOOL:
		return &types.AttributeValueMemberBOOL{}
	case *types.AttributeValueMemberM:
		return &types.AttributeValueMemberM{Value: table.Item{}}
	case *types.AttributeValueMemberL:
		return &types.AttributeValueMemberL{Value: []types.AttributeValue{}}
	}
	return nil
}
