package item_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Types of all kinds, for tables and fuzzing alike.
type (
	word    string
	flag    bool
	count   int8
	amount  float32
	blob    []byte
	words   []string
	blobs   [][]byte
	octet   byte
	octets  []octet
	instant time.Time
	attrs   map[string]types.AttributeValue
	loose   any
	bag     map[string]any
	wordMap map[word]int
)

// loud makes and takes its own attributes, by pointer; quiet by value, where it
// can only be of a kind that refers to something.
type (
	loud  struct{ Text string }
	quiet map[string]string
	shout string
)

var errLoud = errors.New("too loud")

func (l *loud) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		l.Text = strings.ToUpper(v.Value)
	case *types.AttributeValueMemberNULL:
		l.Text = "NULL"
	case *types.AttributeValueMemberBOOL:
		return errLoud
	case *types.AttributeValueMemberB:
		panic("binary")
	default:
		l.Text = fmt.Sprintf("%T", v)
	}
	return nil
}

func (l *loud) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	switch l.Text {
	case "err":
		return nil, errLoud
	case "panic":
		panic("marshal")
	case "nil":
		return nil, nil
	}
	return &types.AttributeValueMemberS{Value: "loud " + l.Text}, nil
}

func (q quiet) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	if q == nil {
		return errors.New("no map")
	}
	q["kind"] = fmt.Sprintf("%T", v)
	return nil
}

func (q quiet) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(len(q))}, nil
}

func (s shout) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberS{Value: string(s) + "!"}, nil
}

// Keys of maps.
type (
	textKey   struct{ A, B string }
	textWord  string
	namedKey  string
	badText   int
	fussyWord string
)

func (k *textKey) UnmarshalText(text []byte) error {
	var ok bool
	if k.A, k.B, ok = strings.Cut(string(text), "-"); !ok {
		return errors.New("no dash")
	}
	return nil
}
func (k textKey) MarshalText() ([]byte, error)    { return []byte(k.A + "-" + k.B), nil }
func (k textWord) MarshalText() ([]byte, error)   { return []byte("<" + string(k) + ">"), nil }
func (k namedKey) String() string                 { return "named " + string(k) }
func (k badText) MarshalText() ([]byte, error)    { return nil, errors.New("bad text") }
func (k *fussyWord) UnmarshalText(b []byte) error { *k = fussyWord("u" + string(b)); return nil }

// Embedding.
type (
	Base struct {
		ID   string
		Name string `dynamodbav:"name"`
		At   time.Time
	}
	Other struct {
		ID    string
		Extra int
		Name  string
	}
	hidden struct {
		Inside string
		N      int
	}
	Left  struct{ Base }
	Right struct{ Base }

	byValue   struct{ Base }
	byPointer struct{ *Base }
	tagged    struct {
		Base `dynamodbav:"base"`
	}
	taggedPointer struct {
		*Base `dynamodbav:"base,omitempty"`
	}
	shadow struct {
		Base
		ID int
	}
	clash struct {
		Base
		Other
	}
	clashPointers struct {
		*Base
		*Other
		Extra string `dynamodbav:"ID"`
	}
	diamond struct {
		Left
		Right
		Own string
	}
	diamondPointers struct {
		*Left
		*Right
	}
	deep struct {
		Left
		Other
	}
	hiddenValue struct {
		hidden
		Own string
	}
	hiddenPointer struct {
		*hidden
		Own string
	}
	hiddenTagged struct {
		hidden `dynamodbav:"h"`
		Own    string
	}
	hiddenShadowed struct {
		*hidden
		Inside, N string
	}
	secret      string
	hiddenKind  struct{ secret }
	Public      string
	publicKind  struct{ Public }
	publicPtr   struct{ *Public }
	stringerIn  struct{ fmt.Stringer }
	timeIn      struct{ time.Time }
	loudIn      struct{ loud }
	unixIn      struct{ attributevalue.UnixTime }
	unixPointer struct {
		*attributevalue.UnixTime
		Own string
	}
	twoTags struct {
		A string `dynamodbav:"x"`
		B string `dynamodbav:"x"`
		C string
	}
	tagWins struct {
		A string `dynamodbav:"x"`
		X string `dynamodbav:""`
		B string `dynamodbav:",omitempty"`
		x string //nolint:unused // it must be left alone
	}
	tagBeatsName struct {
		Name string
		Nick string `dynamodbav:"Name"`
	}
	Loop struct {
		*Loop
		V string
	}
)

// Recursion.
type (
	tree struct {
		Value    int
		Children []tree
		Parent   *tree
		ByName   map[string]tree
		Any      any
	}
	list []list
	dict map[string]dict
)

// everything has a field of every kind.
type everything struct {
	String  string
	Word    word
	Bool    bool
	Flag    flag
	Int     int
	Int8    int8
	Int16   int16
	Int32   int32
	Int64   int64
	Uint    uint
	Uint8   uint8
	Uint16  uint16
	Uint32  uint32
	Uint64  uint64
	Uintptr uintptr
	F32     float32
	F64     float64
	C128    complex128
	Bytes   []byte
	Blob    blob
	Octets  octets
	Array   [3]byte
	Strings []string
	Words   words
	Named   []word
	Ints    []int
	Floats  [2]float64
	Texts2  [2]string
	BB      [][]byte
	Blobs   blobs
	BlobS   []blob
	PB      *[]byte
	PPS     **string
	PI      *int
	PT      *time.Time
	PA      *any
	Time    time.Time
	Instant instant
	Unix    attributevalue.UnixTime
	Number  attributevalue.Number
	JSON    json.Number
	Numbers []attributevalue.Number
	Any     any
	Loose   loose
	Anys    []any
	Map     map[string]any
	MapWord map[word]string
	MapInt  map[int]string
	MapBool map[bool]int
	MapF    map[float64]int
	MapText map[textKey]int
	MapFuss map[fussyWord]int
	MapPtr  map[*string]int
	MapBad  map[[2]int]int
	MapNum  map[attributevalue.Number]int
	Struct  Base
	PStruct *Base
	PPBase  **Base
	Structs []Base
	PList   []*Base
	MapBase map[string]*Base
	Stringe fmt.Stringer
	Loud    loud
	PLoud   *loud
	Louds   []loud
	PLouds  []*loud
	MapLoud map[string]loud
	ArrLoud [2]loud
	Quiet   quiet
	Attrs   map[string]types.AttributeValue
	NAttrs  attrs
	AV      types.AttributeValue
	Chan    chan int
	Func    func()
	Unnamed struct{ A, B string }
	LoudIn  struct{ loud }
	LoudsIn []struct{ loud }
	PLoudIn *struct{ loud }
	Tree    tree
	List    list
	Dict    dict
}

// pool is the types that generated ones are made of.
var pool = []reflect.Type{
	reflect.TypeFor[string](), reflect.TypeFor[word](), reflect.TypeFor[bool](), reflect.TypeFor[flag](),
	reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int64](), reflect.TypeFor[count](),
	reflect.TypeFor[uint8](), reflect.TypeFor[uint64](), reflect.TypeFor[uintptr](),
	reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[amount](), reflect.TypeFor[complex64](),
	reflect.TypeFor[[]byte](), reflect.TypeFor[blob](), reflect.TypeFor[octets](), reflect.TypeFor[[2]byte](),
	reflect.TypeFor[[]string](), reflect.TypeFor[words](), reflect.TypeFor[[]int](), reflect.TypeFor[[][]byte](),
	reflect.TypeFor[blobs](), reflect.TypeFor[time.Time](), reflect.TypeFor[instant](), reflect.TypeFor[any](),
	reflect.TypeFor[loose](), reflect.TypeFor[bag](), reflect.TypeFor[wordMap](), reflect.TypeFor[fmt.Stringer](),
	reflect.TypeFor[attributevalue.UnixTime](), reflect.TypeFor[attributevalue.Number](), reflect.TypeFor[json.Number](),
	reflect.TypeFor[loud](), reflect.TypeFor[quiet](), reflect.TypeFor[shout](), reflect.TypeFor[attrs](),
	reflect.TypeFor[map[int]string](), reflect.TypeFor[map[bool]int](), reflect.TypeFor[map[textKey]int](),
	reflect.TypeFor[map[textWord]string](), reflect.TypeFor[map[namedKey]string](), reflect.TypeFor[map[badText]int](),
	reflect.TypeFor[map[fussyWord]string](), reflect.TypeFor[map[float32]bool](), reflect.TypeFor[chan int](),
	reflect.TypeFor[byValue](), reflect.TypeFor[byPointer](), reflect.TypeFor[tagged](), reflect.TypeFor[taggedPointer](),
	reflect.TypeFor[shadow](), reflect.TypeFor[clash](), reflect.TypeFor[clashPointers](), reflect.TypeFor[diamond](),
	reflect.TypeFor[diamondPointers](), reflect.TypeFor[deep](), reflect.TypeFor[hiddenValue](),
	reflect.TypeFor[hiddenPointer](), reflect.TypeFor[hiddenTagged](), reflect.TypeFor[hiddenShadowed](),
	reflect.TypeFor[hiddenKind](), reflect.TypeFor[publicKind](), reflect.TypeFor[publicPtr](), reflect.TypeFor[stringerIn](),
	reflect.TypeFor[timeIn](), reflect.TypeFor[loudIn](), reflect.TypeFor[unixIn](), reflect.TypeFor[unixPointer](),
	reflect.TypeFor[twoTags](), reflect.TypeFor[tagWins](), reflect.TypeFor[tagBeatsName](), reflect.TypeFor[Loop](),
	reflect.TypeFor[tree](), reflect.TypeFor[list](), reflect.TypeFor[dict](), reflect.TypeFor[struct{ loud }](),
	reflect.TypeFor[Base](), reflect.TypeFor[Other](), reflect.TypeFor[everything](),
}
