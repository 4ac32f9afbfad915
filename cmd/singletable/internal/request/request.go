// Package request shows a request to DynamoDB as people send it: as a command of the AWS
// CLI, and as a call of the AWS SDK for Go.
package request

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/format"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/cmd/singletable/internal/shell"
)

// inputs are those of the operations that can be shown.
var inputs = map[string]reflect.Type{
	"BatchGetItem":       reflect.TypeFor[dynamodb.BatchGetItemInput](),
	"DeleteItem":         reflect.TypeFor[dynamodb.DeleteItemInput](),
	"DescribeTable":      reflect.TypeFor[dynamodb.DescribeTableInput](),
	"DescribeTimeToLive": reflect.TypeFor[dynamodb.DescribeTimeToLiveInput](),
	"GetItem":            reflect.TypeFor[dynamodb.GetItemInput](),
	"ListTables":         reflect.TypeFor[dynamodb.ListTablesInput](),
	"PutItem":            reflect.TypeFor[dynamodb.PutItemInput](),
	"Query":              reflect.TypeFor[dynamodb.QueryInput](),
	"Scan":               reflect.TypeFor[dynamodb.ScanInput](),
	"SearchVectors":      reflect.TypeFor[dynamodb.SearchVectorsInput](),
	"TransactWriteItems": reflect.TypeFor[dynamodb.TransactWriteItemsInput](),
	"UpdateItem":         reflect.TypeFor[dynamodb.UpdateItemInput](),
}

// Request is a request, from the body that is sent for it.
type Request struct {
	operation string
	input     reflect.Type
	members   map[string]any
}

// Parse reads the body of a request. Its error is for an operation that package request
// does not know, and for a body that the SDK does not send.
func Parse(operation string, body []byte) (Request, error) {
	r := Request{operation: operation, input: inputs[operation]}
	if r.input == nil {
		return r, fmt.Errorf("operation %s cannot be shown", operation)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // Numbers keep their digits.
	if err := d.Decode(&r.members); err != nil {
		return r, fmt.Errorf("%s: %w", operation, err)
	}
	for name := range r.members {
		if _, ok := r.input.FieldByName(name); !ok {
			return r, fmt.Errorf("%s has no member %s", operation, name)
		}
	}
	return r, nil
}

// names returns the names of the members in the order in which the SDK has them, those
// that are required first.
func (r Request) names() []string {
	var names []string
	for i := range r.input.NumField() {
		if name := r.input.Field(i).Name; r.members[name] != nil {
			names = append(names, name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return names
}

// rank puts first what says where to read or write.
func rank(name string) int {
	first := []string{"TableName", "IndexName", "KeyConditionExpression", "Key", "Item", "SearchVector"}
	if i := slices.Index(first, name); i >= 0 {
		return i
	}
	return len(first)
}

// Command returns the request as a command of version 2 of the AWS CLI, with further
// flags, for bash, zsh and ksh. It sends one request, and shows a page as it is.
func (r Request) Command(flags ...string) (string, error) {
	words := []string{"aws", "dynamodb", kebab(r.operation)}
	for _, name := range r.names() {
		flag := "--" + kebab(name)
		switch v := r.members[name].(type) {
		case bool:
			if !v {
				flag = "--no-" + kebab(name)
			}
			words = append(words, flag)
		case string:
			words = append(words, flag, v)
		case json.Number:
			words = append(words, flag, v.String())
		default:
			text, err := compact(v)
			if err != nil {
				return "", err
			}
			words = append(words, flag, text)
		}
	}
	if r.operation == "Query" || r.operation == "Scan" {
		words = append(words, "--no-paginate")
	}
	return shell.Quote(append(words, flags...)...), nil
}

func compact(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// kebab returns a name as the AWS CLI writes it: BatchGetItem is batch-get-item.
func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Go returns the request as an expression of Go: a call of the SDK's client, with ctx.
func (r Request) Go() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "client.%s(ctx, &dynamodb.%s{\n", r.operation, r.input.Name())
	for _, name := range r.names() {
		field, _ := r.input.FieldByName(name)
		value, err := goValue(field.Type, r.members[name], "\t")
		if err != nil {
			return "", fmt.Errorf("%s.%s: %w", r.operation, name, err)
		}
		fmt.Fprintf(&b, "\t%s: %s,\n", name, value)
	}
	b.WriteString("})")
	source, err := format.Source([]byte(b.String()))
	return string(source), err
}

var (
	attributeValue = reflect.TypeFor[types.AttributeValue]()
	bytesType      = reflect.TypeFor[[]byte]()
)

// goValue returns a value of a request as Go source of a type. Lines after the first
// begin with indent.
func goValue(t reflect.Type, v any, indent string) (string, error) {
	if t == attributeValue {
		return goAttribute(v, indent)
	}
	switch t.Kind() {
	case reflect.Pointer:
		if t.Elem().Kind() == reflect.Struct {
			text, err := goValue(t.Elem(), v, indent)
			return "&" + text, err
		}
		text, err := goValue(t.Elem(), v, indent)
		name := t.Elem().Name()
		return "aws." + strings.ToUpper(name[:1]) + name[1:] + "(" + text + ")", err
	case reflect.Map, reflect.Struct:
		if members, ok := v.(map[string]any); ok {
			return goMembers(t, members, indent)
		}
	case reflect.Slice:
		if t == bytesType {
			return goBytes(v)
		}
		if elements, ok := v.([]any); ok {
			return goSlice(t, elements, indent)
		}
	case reflect.String:
		if text, ok := v.(string); ok && t.PkgPath() != "" {
			return fmt.Sprintf("types.%s(%q)", t.Name(), text), nil
		} else if ok {
			return goString(text), nil
		}
	case reflect.Bool:
		if yes, ok := v.(bool); ok {
			return fmt.Sprint(yes), nil
		}
	case reflect.Int32:
		if n, ok := v.(json.Number); ok {
			return n.String(), nil
		}
	}
	return "", fmt.Errorf("a %T where the SDK has %s", v, t)
}

// goString returns a text as Go source, readable where it has quotation marks.
func goString(text string) string {
	if strings.Contains(text, `"`) && !strings.ContainsFunc(text, func(r rune) bool { return r == '`' || !unicode.IsPrint(r) }) {
		return "`" + text + "`"
	}
	return fmt.Sprintf("%q", text)
}

func goSlice(t reflect.Type, elements []any, indent string) (string, error) {
	texts := make([]string, len(elements))
	for i, e := range elements {
		var err error
		if texts[i], err = goValue(t.Elem(), e, indent); err != nil {
			return "", err
		}
	}
	name := strings.ReplaceAll(t.String(), "uint8", "byte") // as it is usually written
	return name + "{" + strings.Join(texts, ", ") + "}", nil
}

// goMembers returns a map or a struct.
func goMembers(t reflect.Type, members map[string]any, indent string) (string, error) {
	var b strings.Builder
	b.WriteString(t.String() + "{\n")
	for _, name := range slices.Sorted(maps.Keys(members)) {
		label, of, err := goMember(t, name)
		if err != nil {
			return "", err
		}
		text, err := goValue(of, members[name], indent+"\t")
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s\t%s: %s,\n", indent, label, text)
	}
	b.WriteString(indent + "}")
	return b.String(), nil
}

// goMember returns the key of a map, or the field of a struct, and the type of its value.
func goMember(t reflect.Type, name string) (label string, of reflect.Type, err error) {
	if t.Kind() == reflect.Map {
		return goString(name), t.Elem(), nil
	}
	field, ok := t.FieldByName(name)
	if !ok {
		return "", nil, fmt.Errorf("%s has no field %s", t, name)
	}
	return name, field.Type, nil
}

// members are the types of attribute values by their names in requests.
var members = map[string]reflect.Type{
	"S": reflect.TypeFor[types.AttributeValueMemberS](), "N": reflect.TypeFor[types.AttributeValueMemberN](),
	"B": reflect.TypeFor[types.AttributeValueMemberB](), "BOOL": reflect.TypeFor[types.AttributeValueMemberBOOL](),
	"NULL": reflect.TypeFor[types.AttributeValueMemberNULL](), "M": reflect.TypeFor[types.AttributeValueMemberM](),
	"L": reflect.TypeFor[types.AttributeValueMemberL](), "SS": reflect.TypeFor[types.AttributeValueMemberSS](),
	"NS": reflect.TypeFor[types.AttributeValueMemberNS](), "BS": reflect.TypeFor[types.AttributeValueMemberBS](),
}

// goAttribute returns an attribute value, such as {"S": "ana"}, as Go source.
func goAttribute(v any, indent string) (string, error) {
	only, ok := v.(map[string]any)
	if !ok || len(only) != 1 {
		return "", fmt.Errorf("a %T where the SDK has an attribute value", v)
	}
	for name, value := range only {
		t := members[name]
		if t == nil {
			return "", fmt.Errorf("an attribute value of type %s", name)
		}
		text, err := goValue(t.Field(0).Type, value, indent)
		return fmt.Sprintf("&%s{Value: %s}", t, text), err
	}
	return "", nil
}

// goBytes returns bytes, which requests have in base64.
func goBytes(v any) (string, error) {
	var bytes []byte
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &bytes)
	}
	return fmt.Sprintf("[]byte(%q)", bytes), err
}
