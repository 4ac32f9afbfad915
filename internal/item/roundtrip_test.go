package item_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
)

// Types that make their own attributes.
type (
	// pair makes a text, by pointer.
	pair struct{ a, b string }
	// folded makes an attribute that its default reading takes, stern one that it does not, and
	// hushed one that it loses.
	folded string
	stern  struct{ Text string }
	hushed struct{ text string }
	// lenient, shape and blank only read by themselves.
	lenient int
	shape   struct {
		Kind string
		Of   fmt.Stringer
	}
	blank struct{ text string }
	// Tag makes the attribute of what it is embedded in.
	Tag  struct{ Value string }
	both struct {
		Tag
		Name string
	}
	named struct {
		Tag  Tag
		Name string
	}
	renamed struct {
		Tag  `dynamodbav:"tag"`
		Name string
	}
	aloneIn struct {
		Tag
		cache int //nolint:unused // it is not stored
	}
	marked struct {
		Tag
		Mark nothing
	}
	overrides struct {
		Tag
		Name string
	}
	celsius float64
	userID  int64
	code    string
	node    struct {
		Name string
		Next *node
		Kids map[string][]node
		Rest any
	}
	guarded struct {
		Name string
		mu   sync.Mutex      //nolint:unused // it is not stored
		seen map[string]bool //nolint:unused // it is not stored
	}
	nothing struct{}
	flagged struct {
		Skipped chan int `dynamodbav:"-"`
		Also    big.Int  `dynamodbav:"-"`
	}
	padded struct {
		_    [0]func()
		Name string
	}
	lower struct {
		dirty bool //nolint:unused // it is not stored
	}
)

func (p *pair) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberS{Value: p.a + "/" + p.b}, nil
}

func (p *pair) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		p.a, p.b, _ = strings.Cut(s.Value, "/")
		return nil
	}
	return errors.New("no text")
}

func (f folded) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberS{Value: strings.ToLower(string(f))}, nil
}

func (s stern) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberS{Value: s.Text}, nil
}

func (h hushed) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"text": &types.AttributeValueMemberS{Value: h.text}}}, nil
}

func (l *lenient) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	return attributevalue.Unmarshal(v, (*int)(l))
}

func (s *shape) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	var read struct {
		Kind string
		Of   userID
	}
	err := attributevalue.Unmarshal(v, &read)
	s.Kind, s.Of = read.Kind, read.Of
	return err
}

func (*blank) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error { return nil }

func (t Tag) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberS{Value: t.Value}, nil
}

func (t *Tag) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	return attributevalue.Unmarshal(v, &t.Value)
}

func (o overrides) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberS{Value: o.Value + "/" + o.Name}, nil
}

func (o *overrides) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	text := v.(*types.AttributeValueMemberS).Value
	o.Value, o.Name, _ = strings.Cut(text, "/")
	return nil
}

func (c celsius) String() string { return fmt.Sprintf("%.1f °C", float64(c)) }
func (u userID) String() string  { return fmt.Sprint(int64(u)) }
func (c code) String() string    { return string(c) }

// A value is refused, or stored so that it reads back equal. What attributevalue makes of it
// without the check is shown next to that.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 2, 29, 12, 0, 0, 5, time.UTC)
	const (
		noFields  = "which has no exported fields"
		noPointer = "has a pointer receiver"
		unread    = "no read"
		leftOut   = "attributevalue stores no"
		badKeys   = "do not read back"
		hidesRest = "leaves its other fields out"
	)
	type field[T any] struct{ F T }
	// What only a value tells.
	dynamic := []string{"in any", "in a struct in any", "one in any", "any with one that is lost", "any in a struct in any", "a lost one behind an Unmarshaler"}
	for name, tt := range map[string]struct {
		value any // a pointer to what is written
		want  string
	}{
		"a struct without exported fields": {&field[big.Int]{*big.NewInt(7)}, noFields},
		"a pointer to one":                 {&field[*big.Int]{big.NewInt(7)}, noFields},
		"one as an element":                {&field[[]netip.Addr]{[]netip.Addr{netip.IPv6Loopback()}}, noFields},
		"one in a map":                     {&field[map[string]time.Location]{map[string]time.Location{"a": *time.UTC}}, noFields},
		"one that is the whole item":       {big.NewInt(7), noFields},
		"one of the regexp package":        {&field[*regexp.Regexp]{regexp.MustCompile("a")}, noFields},
		"one with Unmarshaler only":        {&field[blank]{blank{"x"}}, noFields},
		"an exported lock":                 {&field[sync.Mutex]{}, noFields},
		"fields of both kinds":             {&guarded{Name: "a"}, ""},
		"one in a struct of net/url":       {&field[url.URL]{url.URL{Host: "example.com"}}, noFields},
		"an empty struct":                  {&field[nothing]{}, ""},
		"a set as a map":                   {&field[map[string]struct{}]{map[string]struct{}{"a": {}}}, ""},
		"fields without an attribute":      {&field[flagged]{}, ""},
		"a field without a size":           {&padded{Name: "a"}, ""},

		"a pointer's Marshaler in a field":  {&field[pair]{pair{"a", "b"}}, ""},
		"in a slice":                        {&field[[]pair]{[]pair{{"a", "b"}}}, ""},
		"in an array":                       {&field[[1]pair]{[1]pair{{"a", "b"}}}, ""},
		"in a map":                          {&field[map[string]pair]{map[string]pair{"x": {"a", "b"}}}, noPointer},
		"in a struct in a map":              {&field[map[string]field[pair]]{map[string]field[pair]{"x": {pair{"a", "b"}}}}, noPointer},
		"in an array in a map":              {&field[map[string][1]pair]{map[string][1]pair{"x": {{"a", "b"}}}}, noPointer},
		"in a slice in a map":               {&field[map[string][]pair]{map[string][]pair{"x": {{"a", "b"}}}}, ""},
		"behind a pointer in a map":         {&field[map[string]*pair]{map[string]*pair{"x": {"a", "b"}}}, ""},
		"embedded in a type without a name": {&field[struct{ loud }]{struct{ loud }{loud{"x"}}}, noPointer},
		"by value in a map":                 {&field[map[string]Tag]{map[string]Tag{"x": {"a"}}}, ""},
		"in any":                            {&field[any]{pair{"a", "b"}}, noPointer},
		"in a struct in any":                {&field[any]{field[pair]{pair{"a", "b"}}}, noPointer},

		"a Marshaler that a read takes":        {&field[folded]{"a"}, ""},
		"one that no read takes":               {&field[stern]{stern{"a"}}, unread},
		"one without exported fields":          {&field[hushed]{hushed{"a"}}, unread},
		"an Unmarshaler that takes the plain":  {&field[lenient]{7}, ""},
		"one that reads an interface":          {&field[shape]{shape{"user", userID(7)}}, ""},
		"the methods of an embedded field":     {&field[both]{both{Tag{"a"}, "b"}}, hidesRest},
		"of one with a name":                   {&field[named]{named{Tag{"a"}, "b"}}, ""},
		"of one with a name for its attribute": {&field[renamed]{renamed{Tag{"a"}, "b"}}, hidesRest},
		"of one next to an unexported field":   {&field[aloneIn]{aloneIn{Tag: Tag{"a"}}}, ""},
		"of one next to one without a size":    {&field[marked]{marked{Tag: Tag{"a"}}}, ""},
		"its own methods in their place":       {&field[overrides]{overrides{Tag{"a"}, "b"}}, ""},

		"an interface with methods": {&field[fmt.Stringer]{userID(7)}, unread},
		"an error":                  {&field[error]{errors.New("a")}, unread},
		"an embedded interface":     {&stringerIn{userID(7)}, unread},
		"elements of interfaces":    {&field[map[string][]fmt.Stringer]{}, unread},

		"a channel":          {&field[chan int]{}, leftOut},
		"a function":         {&field[func()]{}, leftOut},
		"a complex number":   {&field[complex128]{1i}, leftOut},
		"a uintptr":          {&field[uintptr]{7}, leftOut},
		"a pointer to any":   {&field[*any]{ptr[any](1)}, "stores nothing of a *interface"},
		"an unsafe pointer":  {&field[unsafe.Pointer]{}, leftOut},
		"an attribute value": {&field[types.AttributeValue]{&types.AttributeValueMemberS{Value: "a"}}, "as a map of its Go fields"},
		"one of a type":      {&field[*types.AttributeValueMemberS]{&types.AttributeValueMemberS{Value: "a"}}, "as a map of its Go fields"},
		"an item in an item": {&field[attrs]{attrs{"a": &types.AttributeValueMemberS{Value: "a"}}}, "as a map of its Go fields"},
		"one in any":         {&field[any]{&types.AttributeValueMemberS{Value: "a"}}, "as a map of its Go fields"},

		"keys of integers":                    {&field[map[int]string]{map[int]string{-1: "a"}}, ""},
		"of booleans":                         {&field[map[bool]string]{map[bool]string{true: "a"}}, ""},
		"of a type with String":               {&field[map[time.Weekday]int]{map[time.Weekday]int{time.Monday: 1}}, badKeys},
		"of one that String does not change":  {&field[map[userID]int]{map[userID]int{7: 1}}, ""},
		"of a string that it does not change": {&field[map[code]int]{map[code]int{"a": 1}}, ""},
		"of a string that it changes":         {&field[map[namedKey]int]{map[namedKey]int{"a": 1}}, badKeys},
		"of a number that it changes":         {&field[map[celsius]int]{map[celsius]int{7: 1}}, badKeys},
		"of MarshalText and UnmarshalText":    {&field[map[netip.Addr]int]{map[netip.Addr]int{netip.IPv6Loopback(): 1}}, ""},
		"of MarshalText alone":                {&field[map[textWord]int]{map[textWord]int{"a": 1}}, badKeys},
		"of UnmarshalText alone":              {&field[map[fussyWord]int]{map[fussyWord]int{"a": 1}}, badKeys},
		"of structs":                          {&field[map[[2]int]int]{map[[2]int]int{{1, 2}: 1}}, badKeys},
		"of any":                              {&field[map[any]int]{map[any]int{"a": 1}}, badKeys},

		"two fields of one name":       {&twoTags{"a", "b", "c"}, "several fields"},
		"two of embedded structs":      {&clash{Base{ID: "a"}, Other{ID: "b"}}, "several fields"},
		"a field over an embedded one": {&shadow{Base{Name: "a"}, 7}, ""},
		"an embedded struct":           {&byValue{Base{ID: "a", At: at}}, ""},
		"an embedded pointer":          {&byPointer{&Base{ID: "a", At: at}}, ""},
		"an embedded time":             {&timeIn{at}, noFields},
		"an embedded time next to a field": {&struct {
			time.Time
			Name string
		}{at, "a"}, "that is embedded"},
		"one embedded below": {&struct {
			hiddenTime
			Name string
		}{hiddenTime{at}, "a"}, "that is embedded"},
		"an embedded lock with a tag": {&struct {
			*sync.Mutex `dynamodbav:"-"`
			Name        string
		}{nil, "a"}, ""},
		"an embedded unexported struct": {&struct {
			lower
			Name string
		}{lower{}, "a"}, ""},
		"its exported fields":            {&hiddenValue{hidden{"a", 7}, "b"}, ""},
		"an embedded unexported pointer": {&field[hiddenPointer]{hiddenPointer{&hidden{"a", 7}, "b"}}, unread},
		"an embedded unexported string":  {&field[hiddenKind]{hiddenKind{"a"}}, unread},
		"a type in itself":               {&node{"a", &node{Name: "b"}, map[string][]node{"x": {{Name: "c"}}}, "d"}, ""},
		"a struct that embeds itself":    {&Loop{V: "a"}, ""},

		"a time":         {&field[time.Time]{at}, ""},
		"a type of time": {&field[instant]{instant(at)}, ""},
		"a time with the option string": {&struct {
			At *time.Time `dynamodbav:",string"`
		}{&at}, "the tag option string"},
		"any with the option string": {&struct {
			V any `dynamodbav:",string"`
		}{"a"}, "the tag option string"},
		"a number with it": {&struct {
			V int `dynamodbav:",string"`
		}{7}, ""},
		"a set": {&struct {
			V []string `dynamodbav:",stringset"`
		}{[]string{"a"}}, ""},
		"a set of Unmarshalers": {&struct {
			V []Tag `dynamodbav:",stringset"`
		}{[]Tag{{"a"}, {"b"}}}, "the whole set"},
		"numbers that keep digits": {&field[[]json.Number]{[]json.Number{"12345678901234567890"}}, ""},
		"the greatest float32":     {&field[float32]{-math.MaxFloat32}, ""},
		"… in a vector":            {&field[[]float32]{[]float32{math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32}}, ""},
		"bytes":                    {&field[[3]byte]{[3]byte{1, 2}}, ""},

		"any of plain values":              {&map[string]any{"a": []any{1.5, "b", true, nil}}, ""},
		"any with one that is lost":        {&map[string]any{"a": []any{big.NewInt(7)}}, noFields},
		"any in a struct in any":           {&field[any]{&field[any]{make(chan int)}}, leftOut},
		"a lost one behind an Unmarshaler": {&shape{"user", netip.IPv6Loopback()}, noFields},
	} {
		stored, err := item.EncodeToRead(tt.value)
		if tt.want != "" {
			e, ok := errors.AsType[*item.Error](err)
			if !ok || !errors.Is(err, item.ErrRoundTrip) || !strings.Contains(e.Problem, tt.want) {
				t.Errorf("%s: %v, want %q", name, err, tt.want)
			}
			if known := len(item.RoundTrip(reflect.TypeOf(tt.value).Elem())) > 0; known == slices.Contains(dynamic, name) {
				t.Errorf("%s: known of the type: %v", name, known)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		read := reflect.New(reflect.TypeOf(tt.value).Elem())
		if err := item.Decode(stored, read.Interface()); err != nil || !reflect.DeepEqual(read.Interface(), tt.value) {
			t.Errorf("%s: reads back as %+v, %v; want %+v", name, read.Elem(), err, tt.value)
		}
	}
	// A value that makes the whole item by itself can be read as another type.
	if _, err := item.EncodeToRead(hushed{"a"}); err != nil || len(item.RoundTrip(reflect.TypeFor[hushed]())) != 1 {
		t.Errorf("a type that only writes: %v, %v", err, item.RoundTrip(reflect.TypeFor[hushed]()))
	}
}

// The path leads through interfaces to what is lost.
func TestPathInInterfaces(t *testing.T) {
	t.Parallel()
	type point struct{ N *big.Int }
	type points struct{ V []point }
	for want, value := range map[string]any{
		"a[0].N":   map[string]any{"a": []any{point{}}},
		"a.N":      map[string]any{"a": point{}},
		"a.V[].N":  map[string]any{"a": &points{}},
		"a":        map[string]any{"a": big.NewInt(1)},
		"a[1][].N": map[string]any{"a": []any{1, []point{}}},
	} {
		_, err := item.EncodeToRead(value)
		if e, ok := errors.AsType[*item.Error](err); !ok || e.Path != want {
			t.Errorf("error %v, want the path %q", err, want)
		}
	}
}

// hiddenTime embeds what is lost, one level down.
// A time is stored as text, which RFC 3339 does not have for each. It is refused then, wherever
// it is.
func TestTimesWithoutText(t *testing.T) {
	t.Parallel()
	zone := func(seconds int) *time.Location { return time.FixedZone("", seconds) }
	for _, tt := range []struct {
		at   time.Time
		want bool // it reads back
	}{
		{time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, zone(-23*60*60)), true},
		{time.Date(0, 1, 1, 0, 0, 0, 0, zone(23*60*60+59*60)), true},
		{time.Time{}, true},
		{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), false},
		{time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), false},
		{time.Date(1930, 1, 1, 0, 0, 0, 0, zone(19*60+32)), false}, // Amsterdam
		{time.Date(2024, 1, 1, 0, 0, 0, 0, zone(24*60*60)), false},
	} {
		type times struct {
			At    time.Time
			All   []time.Time
			ByDay map[string]*time.Time
		}
		for _, v := range []times{{At: tt.at}, {All: []time.Time{tt.at}}, {ByDay: map[string]*time.Time{"a": &tt.at}}} {
			stored, err := item.EncodeToRead(v)
			if (err == nil) != tt.want {
				t.Errorf("%v: %v", tt.at, err)
			}
			if err != nil {
				continue
			}
			var read times
			if err := item.Decode(stored, &read); err != nil || !read.At.Equal(v.At) {
				t.Errorf("%v: reads back as %v, %v", v, read, err)
			}
		}
		if _, err := item.EncodeToRead(map[string]any{"a": tt.at}); (err == nil) != tt.want {
			t.Errorf("%v in an any: %v", tt.at, err)
		}
	}
}

type hiddenTime struct{ time.Time }

// FuzzRoundTrip writes and reads values of generated types. What is not refused is read
// without an error, and what is read is stored as the value was. The methods of a type
// are its own word, and so are options that leave elements out.
func FuzzRoundTrip(f *testing.F) {
	seeds(f)
	dynamic := regexp.MustCompile("interface|loose|bag|tree") // a number becomes a float64
	own := regexp.MustCompile("loud|quiet|shout|omitemptyelem|nullempty.*omitempty|omitempty.*nullempty")
	f.Fuzz(func(t *testing.T, data []byte) {
		s := source(data)
		typ := s.fuzzType()
		v, read := reflect.New(typ), reflect.New(typ)
		s.value(v.Elem(), 5)
		stored, err := item.EncodeToRead(v.Interface())
		if err != nil || !storable(stored) || own.MatchString(fmt.Sprintf("%v %+v", typ, v)) {
			return
		}
		if err := item.Decode(item.AsStored(stored), read.Interface()); err != nil {
			t.Fatalf("%v: %+v\nis stored as %v\nand reads as %v", typ, v.Elem(), stored, err)
		}
		if dynamic.MatchString(typ.String()) {
			return
		}
		again, err := item.EncodeToRead(read.Interface())
		if err != nil || !item.EqualUnordered(withoutNulls(item.AsStored(again)), withoutNulls(item.AsStored(stored))) {
			t.Errorf("%v: %+v\nis stored as %v\nand then as   %v, %v", typ, v.Elem(), stored, again, err)
		}
	})
}

// withoutNulls removes members that are NULL, which an empty set becomes, and a nil that
// is left out.
func withoutNulls(value types.AttributeValue) types.AttributeValue {
	p := item.ValueOf(value)
	for name, member := range p.Map {
		if item.ValueOf(member).Kind == item.NULL {
			delete(p.Map, name)
			continue
		}
		p.Map[name] = withoutNulls(member)
	}
	for i, e := range p.List {
		p.List[i] = withoutNulls(e)
	}
	return p.Value()
}

// storable reports whether the numbers in a value are such, which package table checks.
func storable(value types.AttributeValue) bool {
	p := item.ValueOf(value)
	bad := func(text string) bool { return !item.StorableNumber(text) }
	if p.Kind == item.N && bad(p.Text) || p.Kind == item.NS && slices.ContainsFunc(p.Texts, bad) {
		return false
	}
	for _, member := range p.Map {
		if !storable(member) {
			return false
		}
	}
	return p.Kind != 0 && !slices.ContainsFunc(p.List, func(e types.AttributeValue) bool { return !storable(e) })
}
