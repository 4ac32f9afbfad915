package view

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/table"
)

// filter is one condition of the form on an attribute.
type filter struct {
	Attribute string
	Is        []option
	Kinds     []option
	Value     string
	To        string // the upper bound of between

	is, kind string
}

// The conditions of a filter.
const (
	isEqual     = "" // the default
	isOther     = "ne"
	isLess      = "lt"
	isAtMost    = "le"
	isGreater   = "gt"
	isAtLeast   = "ge"
	isBetween   = "between"
	isIn        = "in"
	isBeginning = "begins"
	isHolding   = "contains"
	isThere     = "exists"
	isMissing   = "missing"
)

// The types of the value in a filter.
const (
	kindText    = ""
	kindNumber  = "number"
	kindBoolean = "bool"
)

// maxFilters is how many filters the form has at most.
const maxFilters = 10

// newFilters returns the filters of the address, and an empty one.
func newFilters(v *visit) []filter {
	at := func(name string, i int) string {
		if given := v.Form[name]; i < len(given) {
			return given[i]
		}
		return ""
	}
	var all []filter
	for i := range v.Form["attribute"] {
		if f := newFilter(at("attribute", i), at("is", i), at("kind", i), at("equals", i), at("upto", i)); f.Attribute != "" && len(all) < maxFilters {
			all = append(all, f)
		}
	}
	if len(all) < maxFilters {
		all = append(all, newFilter("", "", "", "", ""))
	}
	return all
}

func newFilter(attribute, is, kind, value, to string) filter {
	return filter{
		Attribute: attribute, Value: value, To: to, is: is, kind: kind,
		Is: chosen([]option{
			{isEqual, "=", false},
			{isOther, "≠", false},
			{isLess, "<", false},
			{isAtMost, "≤", false},
			{isGreater, ">", false},
			{isAtLeast, "≥", false},
			{isBetween, "between", false},
			{isIn, "in", false},
			{isBeginning, "begins with", false},
			{isHolding, "contains", false},
			{isThere, "exists", false},
			{isMissing, "does not exist", false},
		}, is),
		Kinds: chosen([]option{{kindText, "text", false}, {kindNumber, "number", false}, {kindBoolean, "true or false", false}}, kind),
	}
}

// String returns the filter for people.
func (f filter) String() string {
	text := f.Attribute
	for _, o := range f.Is {
		if o.Chosen {
			text += " " + o.Name
		}
	}
	switch f.is {
	case isThere, isMissing:
		return text
	case isBetween:
		return text + " " + f.Value + " and " + f.To
	}
	return text + " " + f.Value
}

// condition returns the filter as DynamoDB takes it.
func (f filter) condition() (c expression.ConditionBuilder, err error) {
	// [expression.Key] takes the whole name. [expression.NameNoDotSplit] reads a[0] as an
	// element of a list.
	name, function := expression.Key(f.Attribute), expression.NameNoDotSplit(f.Attribute)
	switch f.is {
	case isBeginning, isHolding, isThere, isMissing:
		if strings.HasSuffix(f.Attribute, "]") {
			return c, fmt.Errorf("%w: the filter on %s cannot be sent, since its name ends as that of an element of a list does", table.ErrInvalid, f.Attribute)
		}
	}
	var values []expression.OperandBuilder
	texts := []string{f.Value}
	switch f.is {
	case isThere:
		return expression.AttributeExists(function), nil
	case isMissing:
		return expression.AttributeNotExists(function), nil
	case isBeginning:
		return expression.BeginsWith(function, f.Value), nil
	case isHolding:
		v, err := f.value(f.Value)
		return expression.Contains(function, v), err
	case isBetween:
		texts = append(texts, f.To)
	case isIn:
		texts = strings.Split(f.Value, ",")
		for i := range texts {
			texts[i] = strings.TrimSpace(texts[i])
		}
	}
	for _, text := range texts {
		v, err := f.value(text)
		if err != nil {
			return c, err
		}
		values = append(values, expression.Value(v))
	}
	switch f.is {
	case isEqual:
		return expression.Equal(name, values[0]), nil
	case isOther:
		return expression.NotEqual(name, values[0]), nil
	case isLess:
		return expression.LessThan(name, values[0]), nil
	case isAtMost:
		return expression.LessThanEqual(name, values[0]), nil
	case isGreater:
		return expression.GreaterThan(name, values[0]), nil
	case isAtLeast:
		return expression.GreaterThanEqual(name, values[0]), nil
	case isBetween:
		return expression.Between(name, values[0], values[1]), nil
	case isIn:
		return expression.In(name, values[0], values[1:]...), nil
	}
	return c, fmt.Errorf("%w: there is no such condition of a filter", table.ErrInvalid)
}

// value returns a text as a value of the filter's type.
func (f filter) value(text string) (types.AttributeValue, error) {
	switch f.kind {
	case kindNumber:
		text = strings.TrimSpace(text)
		if text == "" {
			return nil, fmt.Errorf("%w: the filter on %s needs a number", table.ErrInvalid, f.Attribute)
		}
		return &types.AttributeValueMemberN{Value: text}, nil
	case kindBoolean:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("%w: the filter on %s needs true or false", table.ErrInvalid, f.Attribute)
		}
		return &types.AttributeValueMemberBOOL{Value: b}, nil
	}
	return &types.AttributeValueMemberS{Value: text}, nil
}

// conditions returns all filters together. There are some if ok.
func conditions(filters []filter) (all expression.ConditionBuilder, ok bool, err error) {
	for _, f := range filters {
		if f.Attribute == "" {
			continue
		}
		c, err := f.condition()
		switch {
		case err != nil:
			return all, false, err
		case ok:
			all = all.And(c)
		default:
			all, ok = c, true
		}
	}
	return all, ok, nil
}
