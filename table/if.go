package table

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/internal/item"
)

// If returns a condition from its text, as for [Op.If], [Check], [Query].Filter and repo.Patch.If:
//
//	table.If("closing = ? AND seats >= ?", false, n)
//	table.If("attribute_not_exists(owner) OR owner = ?", me)
//	table.If("state IN ?", []string{"open", "waiting"})
//	table.If("begins_with(name, ?) AND size(tags) < ?", "A", 10)
//
// The text has the operators and functions of DynamoDB: = <> < <= > >=, BETWEEN ? AND ?, IN,
// AND, OR, NOT, parentheses, attribute_exists, attribute_not_exists, attribute_type,
// begins_with, contains and size. AND binds stronger than OR, and NOT stronger than AND. Each ?
// is one of the values, in order, which are encoded as by attributevalue. IN takes a list of ?
// in parentheses, or one ? for a slice.
//
// A name can be any word, also a reserved one such as status or size. One with other characters
// has quotes, and ” for a quote in it: 'a.b' is one name, and a.b[0] a path. The words AND, OR,
// NOT, BETWEEN and IN are names in quotes only, or in small letters.
//
// Let the text be a constant of the program. It is parsed as a whole, so that no value can
// change what the condition means. The error of a faulty text, or of values that are too few
// or too many, is that of the operation, and matches [ErrInvalid]; nothing is sent.
//
// AWS: "Comparison operator and function reference", Amazon DynamoDB Developer Guide.
func If(text string, values ...any) expression.ConditionBuilder {
	p := &conditionParser{text: text, values: values}
	p.next()
	condition := p.or(0)
	switch {
	case p.err != nil:
	case p.token != "":
		p.fail("%q is unexpected", p.token)
	case p.used != len(values):
		p.err = fmt.Errorf("it has %d ?, and there are %d values", p.used, len(values))
	}
	if p.err != nil {
		return expression.Equal(faulty{p.err}, faulty{p.err})
	}
	return condition
}

// conditionParser reads the text of a condition. After the first error it reads nothing more.
type conditionParser struct {
	text   string
	at     int // behind the token
	token  string
	quoted bool // the token is a name in quotes, without them
	values []any
	used   int
	err    error
}

// conditionError is why a text is no condition.
type conditionError struct{ err error }

func (e *conditionError) Error() string { return "If: " + e.err.Error() }

// faulty is an operand that cannot be built.
type faulty struct{ err error }

// BuildOperand is called when the expression is built.
func (f faulty) BuildOperand() (expression.Operand, error) {
	return expression.Operand{}, &conditionError{f.err}
}

func (p *conditionParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%s, before byte %d of the text", fmt.Sprintf(format, args...), p.at)
		p.token, p.at = "", len(p.text)
	}
}

// next reads a token: a word, a name in quotes, a sign, or "" at the end.
func (p *conditionParser) next() {
	p.at = skip(p.text, p.at, isSpace)
	p.quoted = false
	if p.token = ""; p.at == len(p.text) {
		return
	}
	from := p.at
	switch c := p.text[p.at]; {
	case c == '\'':
		p.quote()
		return
	case isWord(c):
		p.at = skip(p.text, p.at, isWord)
	case c == '<' || c == '>':
		p.at = skip(p.text, p.at+1, func(c byte) bool { return c == '=' || c == '>' })
	default:
		p.at++
	}
	p.token = p.text[from:p.at]
}

// quote reads a name in quotes.
func (p *conditionParser) quote() {
	rest := p.text[p.at+1:]
	for end := 0; end < len(rest); end++ {
		switch {
		case rest[end] != '\'':
		case strings.HasPrefix(rest[end+1:], "'"):
			end++
		default:
			p.at += end + 2
			p.token, p.quoted = strings.ReplaceAll(rest[:end], "''", "'"), true
			if end == 0 {
				p.fail("a name is empty")
			}
			return
		}
	}
	p.fail("a quote does not end")
}

// is reports whether the token is that word or sign.
func (p *conditionParser) is(word string) bool { return p.token == word && !p.quoted }

// take reads the word or sign if it is there.
func (p *conditionParser) take(word string) bool {
	if !p.is(word) {
		return false
	}
	p.next()
	return true
}

func (p *conditionParser) want(word string) {
	if !p.take(word) {
		p.fail("%q is missing", word)
	}
}

// maxConditionDepth bounds the parentheses and NOTs within each other.
const maxConditionDepth = 100

func (p *conditionParser) or(depth int) expression.ConditionBuilder {
	c := p.and(depth)
	for p.take("OR") {
		c = c.Or(p.and(depth))
	}
	return c
}

func (p *conditionParser) and(depth int) expression.ConditionBuilder {
	c := p.not(depth)
	for p.take("AND") {
		c = c.And(p.not(depth))
	}
	return c
}

func (p *conditionParser) not(depth int) expression.ConditionBuilder {
	if depth > maxConditionDepth {
		p.fail("parentheses are nested too deeply")
	}
	switch {
	case p.take("NOT"):
		return p.not(depth + 1).Not()
	case p.take("("):
		c := p.or(depth + 1)
		p.want(")")
		return c
	}
	return p.predicate()
}

// predicate reads a function that is true or false, or a comparison.
func (p *conditionParser) predicate() (c expression.ConditionBuilder) {
	if p.is("size") {
		return p.comparison(p.operand())
	}
	name, calls := p.function()
	if !calls {
		return p.comparison(p.operand())
	}
	path := p.path()
	switch name {
	case "attribute_exists":
		c = path.AttributeExists()
	case "attribute_not_exists":
		c = path.AttributeNotExists()
	case "attribute_type":
		c = path.AttributeType(expression.DynamoDBAttributeType(p.argument()))
	case "begins_with":
		c = path.BeginsWith(p.argument())
	case "contains":
		p.want(",")
		c = path.Contains(p.value())
	default:
		p.fail("there is no function %q", name)
	}
	p.want(")")
	return c
}

// function reads the name of a function and its parenthesis, if they are there.
func (p *conditionParser) function() (name string, calls bool) {
	if p.quoted || p.token == "" || !isWord(p.token[0]) || !strings.HasPrefix(strings.TrimLeft(p.text[p.at:], " \t\n"), "(") {
		return "", false
	}
	name = p.token
	p.next()
	p.next()
	return name, true
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// argument reads a second argument that is a text.
func (p *conditionParser) argument() string {
	p.want(",")
	v := reflect.ValueOf(p.value())
	if p.err == nil && v.Kind() != reflect.String {
		p.fail("its value %d is a %s, and must be a string", p.used, typeName(v))
		return ""
	}
	return v.String()
}

func typeName(v reflect.Value) string {
	if !v.IsValid() {
		return "nil"
	}
	return v.Type().String()
}

func (p *conditionParser) comparison(left expression.OperandBuilder) (c expression.ConditionBuilder) {
	sign := p.token
	if p.quoted {
		sign = ""
	}
	if p.err == nil {
		p.next()
	}
	switch sign {
	case "=":
		return expression.Equal(left, p.operand())
	case "<>":
		return expression.NotEqual(left, p.operand())
	case "<":
		return expression.LessThan(left, p.operand())
	case "<=":
		return expression.LessThanEqual(left, p.operand())
	case ">":
		return expression.GreaterThan(left, p.operand())
	case ">=":
		return expression.GreaterThanEqual(left, p.operand())
	case "BETWEEN":
		low := p.operand()
		p.want("AND")
		return expression.Between(left, low, p.operand())
	case "IN":
		return p.in(left)
	}
	p.fail("a comparison is missing")
	return c
}

// in reads a list in parentheses, or a ? whose value is a slice.
func (p *conditionParser) in(left expression.OperandBuilder) (c expression.ConditionBuilder) {
	var all []expression.OperandBuilder
	if p.take("(") {
		all = append(all, p.operand())
		for p.take(",") {
			all = append(all, p.operand())
		}
		p.want(")")
	} else {
		list := reflect.ValueOf(p.value())
		switch {
		case p.err != nil:
		case list.Kind() != reflect.Slice && list.Kind() != reflect.Array:
			p.fail("value %d, after IN, is a %s, and must be a slice", p.used, typeName(list))
		case list.Len() == 0:
			p.fail("value %d, after IN, is empty", p.used)
		default:
			for i := range list.Len() {
				all = append(all, expression.Value(list.Index(i).Interface()))
			}
		}
	}
	if p.err != nil {
		return c
	}
	return expression.In(left, all[0], all[1:]...)
}

// operand reads a path, its size, or a value.
func (p *conditionParser) operand() expression.OperandBuilder {
	if p.is("?") {
		return expression.Value(p.value())
	}
	if name, calls := p.function(); calls {
		if name != "size" {
			p.fail("%s is no operand", name)
		}
		size := p.path().Size()
		p.want(")")
		return size
	}
	return p.path()
}

// value reads a ? and returns its value.
func (p *conditionParser) value() any {
	if p.want("?"); p.err != nil {
		return nil
	}
	if p.used++; p.used > len(p.values) {
		p.err = errors.New("it has more ? than there are values")
		return nil
	}
	return p.values[p.used-1]
}

// path reads a name and what is within its attribute.
func (p *conditionParser) path() expression.NameBuilder {
	path := p.name()
	for p.take(".") {
		path = path.AppendName(p.name())
	}
	return path
}

// name reads a name, and the places of lists behind it.
func (p *conditionParser) name() expression.NameBuilder {
	switch name := p.token; {
	case p.quoted:
	case name == "":
		p.fail("a name is missing")
	case !isWord(name[0]) || name[0] >= '0' && name[0] <= '9' || isKeyword(name):
		p.fail("%q is where a name is missing; write ? for a value, and quotes around a name of other characters", name)
	}
	name := p.token
	p.next()
	places := ""
	for p.take("[") {
		if _, err := strconv.ParseUint(p.token, 10, 31); err != nil {
			p.fail("%q is no place in a list", p.token)
		}
		places += "[" + p.token + "]"
		p.next()
		p.want("]")
	}
	return item.NameAt(name, places)
}

func isKeyword(word string) bool {
	switch word {
	case "AND", "OR", "NOT", "BETWEEN", "IN":
		return true
	}
	return false
}
