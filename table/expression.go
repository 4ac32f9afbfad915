package table

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
)

// Limits of expressions. AWS: "Constraints in Amazon DynamoDB", "Comparison operator and
// function reference" and "Specifying item attributes when using expressions in
// DynamoDB", Amazon DynamoDB Developer Guide. Seen: paritysuite/dynamodb-conformance,
// limits/expressionSize.test.ts.
const (
	maxExpression      = 4 << 10 // bytes of the text as it is sent
	maxSubstitutes     = 2 << 20 // bytes of all names and values
	maxOperators       = 300
	maxInOperands      = 100
	maxExpressionLevel = 32 // elements of a document path
)

// build builds an expression. Its placeholders are numbers, and those that are not built
// here have letters, so the two never meet. Methods of values can panic and can quote values
// in their errors; the error of build does not.
func build(builder expression.Builder) (built expression.Expression, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &withheld{"a value panics when it is encoded", fmt.Errorf("panic: %v", p)}
		}
	}()
	built, err = builder.Build()
	var unset expression.UnsetParameterError
	var invalid expression.InvalidParameterError
	var text *conditionError
	switch {
	case errors.As(err, &text):
		err = text
	case err != nil && !errors.As(err, &unset) && !errors.As(err, &invalid):
		err = &withheld{"a value does not encode", err}
	}
	item.PlainNames(built.Names())
	return built, err
}

// formula is the text of an expression, with the names and values of its
// placeholders. The expression package writes placeholders for all of them.
type formula struct {
	// kind is update, condition or filter.
	kind   string
	tokens []string
	names  map[string]string
	values Item
}

const kindUpdate = "update"

func checkLength(kind, text string) error {
	if len(text) > maxExpression {
		return fmt.Errorf("%s: the expression has %d bytes, DynamoDB takes %d", kind, len(text), maxExpression)
	}
	return nil
}

// tokens splits an expression into document paths (#0[1].#2), values (:0),
// words, and signs.
func tokens(text string) []string {
	all := make([]string, 0, len(text)/3)
	for i := 0; i < len(text); {
		from := i
		switch c := text[i]; {
		case c == ' ' || c == '\n':
			i++
			continue
		case c == '#':
			i = skip(text, i, isPath)
		case c == ':' || isWord(c):
			i = skip(text, i+1, isWord)
		case c == '<' || c == '>':
			i = skip(text, i, func(c byte) bool { return c == '<' || c == '>' || c == '=' })
		default:
			i++
		}
		all = append(all, text[from:i])
	}
	return all
}

func skip(text string, i int, is func(byte) bool) int {
	for i < len(text) && is(text[i]) {
		i++
	}
	return i
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isPath(c byte) bool {
	return isWord(c) || c == '#' || c == '.' || c == '[' || c == ']'
}

// operators counts the operators and functions of a condition as DynamoDB does:
// BETWEEN with its AND is one. AWS: "Count expression operators in DynamoDB with an AWS
// SDK", Amazon DynamoDB Developer Guide.
func (f formula) operators() int {
	n := 0
	for _, token := range f.tokens {
		switch token {
		case "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "NOT", "IN", // BETWEEN has its AND
			"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size":
			n++
		}
	}
	return n
}

// check returns why DynamoDB would refuse the paths or values.
func (f formula) check() error {
	for i, token := range f.tokens {
		switch {
		case token[0] == '#' && levels(token) > maxExpressionLevel:
			return fmt.Errorf("%s: the path of attribute %q has more than %d elements", f.kind, item.Shortened(f.name(token)), maxExpressionLevel)
		case token[0] == '#' && !indexable(token):
			return fmt.Errorf("%s: the path of attribute %q has an index that no list has", f.kind, item.Shortened(f.name(token)))
		case token[0] == ':':
			if _, fault := measure(f.values[token], 1); fault != nil {
				return f.valueError(i, fault)
			}
		}
	}
	return nil
}

// valueError returns the error of the value at token i. It names the attribute
// next to the value.
func (f formula) valueError(i int, fault *fault) error {
	path := ""
	for at := i - 1; at >= 0 && path == ""; at-- {
		path = f.name(f.tokens[at])
	}
	for at := i + 1; at < len(f.tokens) && path == ""; at++ {
		path = f.name(f.tokens[at])
	}
	if f.kind == kindUpdate {
		return fault.in(path).err()
	}
	return fmt.Errorf("%s: the value for %w", f.kind, fault.in(path).err())
}

// operand returns token i, or "" after the last one.
func (f formula) operand(i int) string {
	if i < len(f.tokens) {
		return f.tokens[i]
	}
	return ""
}

// checkIn checks a list of operands: IN (:0, :1).
func (f formula) checkIn(i int) error {
	end := slices.Index(f.tokens[i:], ")")
	if end < 0 {
		return nil
	}
	commas := 0
	for _, token := range f.tokens[i : i+end] {
		if token == "," {
			commas++
		}
	}
	if commas+1 > maxInOperands {
		return fmt.Errorf("%s: IN has %d values, DynamoDB takes %d", f.kind, commas+1, maxInOperands)
	}
	return nil
}

// checkBetween checks constant bounds: BETWEEN :0 AND :1.
func (f formula) checkBetween(i int) error {
	low, high := f.values[f.operand(i+1)], f.values[f.operand(i+3)]
	if low == nil || high == nil {
		return nil
	}
	kind, from := keyText(low)
	other, to := keyText(high)
	reversed := from > to
	if kind == types.ScalarAttributeTypeN {
		reversed = item.CompareNumbers(from, to) > 0
	}
	switch {
	case kind == "" || other == "":
		return nil // another type of value
	case kind != other:
		return f.valueError(i+1, broken("is a bound of another type than the upper one"))
	case reversed:
		return f.valueError(i+1, broken("is a lower bound above the upper one"))
	}
	return nil
}

// checkType checks the name of a type: attribute_type (#0, :0).
func (f formula) checkType(i int) error {
	value, constant := f.values[f.operand(i+4)]
	name, ok := value.(*types.AttributeValueMemberS)
	if constant && (!ok || !slices.Contains([]string{"S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"}, name.Value)) {
		return f.valueError(i+4, broken("is not the name of an attribute type"))
	}
	return nil
}

// levels returns how many elements a document path has.
func levels(path string) int { return 1 + strings.Count(path, ".") + strings.Count(path, "[") }

// indexable reports whether the places in a path are those of lists.
func indexable(path string) bool {
	for {
		_, after, is := strings.Cut(path, "[")
		if !is {
			return true
		}
		number, rest, _ := strings.Cut(after, "]")
		if _, err := strconv.ParseInt(number, 10, 32); err != nil {
			return false
		}
		path = rest
	}
}

// name returns a document path with names instead of placeholders. Other tokens
// return "".
func (f formula) name(token string) string {
	if !strings.HasPrefix(token, "#") {
		return ""
	}
	parts := strings.Split(token, ".")
	for i, part := range parts {
		placeholder, _, _ := strings.Cut(part, "[")
		parts[i] = f.names[placeholder] + part[len(placeholder):]
	}
	return strings.Join(parts, ".")
}

// attribute returns the name of the attribute that a document path begins with, and
// whether the path leads to a part of it. Other tokens have no attribute.
func (f formula) attribute(token string) (name string, nested bool) {
	if end := strings.IndexAny(token, ".["); end >= 0 {
		token, nested = token[:end], true
	}
	return f.names[token], nested
}

// elements returns a document path in one form, whatever its names: each element begins
// with a zero byte, of which names have none here, and a dot or a bracket. It is "" for other
// tokens.
func (f formula) elements(token string) string {
	if token == "" || token[0] != '#' {
		return ""
	}
	name := func(part string) string {
		name := f.names[part]
		if strings.ContainsAny(name, "\x00\x01") {
			name = strings.NewReplacer("\x01", "\x01\x01", "\x00", "\x01\x02").Replace(name)
		}
		return "\x00." + name
	}
	if levels(token) == 1 {
		return name(token)
	}
	var b strings.Builder
	for part := range strings.SplitSeq(strings.ReplaceAll(token, "[", ".["), ".") {
		if number, is := strings.CutPrefix(part, "["); is {
			b.WriteString("\x00[" + strings.TrimLeft(number[:len(number)-1], "0"))
		} else {
			b.WriteString(name(part))
		}
	}
	return b.String()
}

// checkSubstitutes checks the names of an expression, and the size of its names
// and values together.
func checkSubstitutes(names map[string]string, values Item) error {
	total := 0
	for _, name := range names {
		if f := nameFault(name); f != nil {
			return f.in(name).err()
		}
		total += len(name)
	}
	for _, value := range values {
		size, _ := measure(value, 1)
		total += size
	}
	if total > maxSubstitutes {
		return fmt.Errorf("the names and values of the expression have %d bytes, DynamoDB takes %d", total, maxSubstitutes)
	}
	return nil
}

// assignment is one clause of an update expression: SET #0 = :0, REMOVE #0.
type assignment struct {
	action  string
	path    string   // a token
	operand []string // the tokens of the value; none for REMOVE
}

// assignments returns the clauses of an update expression.
func (f formula) assignments() []assignment {
	var all []assignment
	action, open, from := "", 0, 0
	end := func(i int) {
		if clause := f.tokens[from:i]; len(clause) > 0 {
			operand := clause[1:]
			if len(operand) > 0 && operand[0] == "=" {
				operand = operand[1:]
			}
			all = append(all, assignment{action, clause[0], operand})
		}
		from = i + 1
	}
	for i, token := range f.tokens {
		switch token {
		case "(":
			open++
		case ")":
			open--
		case ",":
			if open == 0 {
				end(i)
			}
		case "SET", "REMOVE", "ADD", "DELETE":
			end(i)
			action = token
		}
	}
	end(len(f.tokens))
	return all
}

// assigned returns the values that the clause stores for certain, whatever the item
// has.
func (f formula) assigned(a assignment) (values []types.AttributeValue) {
	switch {
	case a.action == "ADD", a.action == "SET" && len(a.operand) == 1:
	case a.action == "SET" && a.operand[0] == "list_append":
	default:
		return nil // if_not_exists, arithmetic, DELETE, REMOVE
	}
	for _, token := range a.operand {
		if value, ok := f.values[token]; ok {
			values = append(values, value)
		}
	}
	return values
}
