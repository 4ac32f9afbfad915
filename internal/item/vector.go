package item

import (
	"bytes"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Vector makes numbers of the elements of a vector, which have the fewest digits that tell
// each one from all others. A NaN or an infinity becomes a text that is no number.
func Vector[F float32 | float64](v []F) []types.AttributeValue {
	bits := 64
	if reflect.TypeFor[F]().Kind() == reflect.Float32 {
		bits = 32
	}
	// The texts share memory, and so do the numbers: vectors are long.
	var digits strings.Builder
	digits.Grow(len(v) * digitsEach)
	var room [64]byte
	ends := make([]int32, len(v))
	for i, f := range v {
		digits.Write(appendFloat(room[:0], float64(f), bits))
		ends[i] = int32(digits.Len())
	}
	text, numbers := digits.String(), make([]types.AttributeValueMemberN, len(v))
	all := make([]types.AttributeValue, len(v))
	from := int32(0)
	for i, end := range ends {
		numbers[i].Value, from = text[from:end], end
		all[i] = &numbers[i]
	}
	return all
}

// appendFloat writes the fewest digits that tell a float from all others of its bits. Those
// of the greatest float32 are more than it is, which attributevalue refuses to read: it gets
// those of a float64.
func appendFloat(b []byte, f float64, bits int) []byte {
	if bits == 32 && math.Abs(f) == math.MaxFloat32 {
		bits = 64
	}
	return strconv.AppendFloat(b, f, 'f', -1, bits)
}

// digitsEach is about how long the text of an element is.
const digitsEach = 14

// vectorOf returns the numbers of a slice whose elements are plain floats, of whatever
// named type it is itself.
func vectorOf(v reflect.Value) (list []types.AttributeValue, ok bool) {
	switch v.Type().Elem() {
	case float32Type:
		return Vector(v.Convert(reflect.TypeFor[[]float32]()).Interface().([]float32)), true
	case float64Type:
		return Vector(v.Convert(reflect.TypeFor[[]float64]()).Interface().([]float64)), true
	}
	return nil, false
}

var (
	float32Type = reflect.TypeFor[float32]()
	float64Type = reflect.TypeFor[float64]()
)

// isVector reports whether values are slices of plain floats.
func (p *plan) isVector() bool {
	return p.form == slice && (p.typ.Elem() == float32Type || p.typ.Elem() == float64Type)
}

// vector reads a list of numbers into a slice of plain floats.
func (p *plan) vector(r *Parser, v reflect.Value) verdict {
	if p.typ.Elem() == float32Type {
		return floats[float32](r, v, math.MaxFloat32)
	}
	return floats[float64](r, v, math.MaxFloat64)
}

func floats[F float32 | float64](r *Parser, v reflect.Value, greatest float64) verdict {
	verdict, all := fits, make([]F, 0, r.numbers())
	ok := r.Array(func(int) bool {
		switch r.kind() {
		case N:
		case NULL:
			_, ok := r.bool()
			all = append(all, 0)
			return ok && r.is('}')
		default:
			verdict = misfit
			return false
		}
		digits, plain, ok := r.text()
		if !ok {
			return false
		}
		f, exact := shortFloat(digits)
		err := error(nil)
		if !exact {
			f, err = strconv.ParseFloat(string(digits), 64)
		}
		if err != nil || !plain || math.Abs(f) > greatest {
			verdict = misfit
			return false
		}
		all = append(all, F(f))
		return r.is('}')
	})
	switch {
	case verdict != fits:
		return verdict
	case !ok:
		return broken
	}
	v.Set(reflect.ValueOf(all).Convert(v.Type()))
	return fits
}

// numbers returns how many numbers a list has that begins here, if it has nothing else.
func (r *Parser) numbers() int {
	list, _, _ := bytes.Cut(r.data[r.pos:], []byte{']'})
	return min(bytes.Count(list, []byte{'{'}), len(list)/len(`{"N":"1"}`))
}

// shortFloat parses what most elements of vectors look like: digits with a point in between,
// which are an integer of 53 bits over a power of ten that a float64 holds. So the one
// division is rounded as strconv rounds. William D. Clinger: "How to Read Floating Point
// Numbers Accurately", 1990.
func shortFloat(digits []byte) (f float64, exact bool) {
	negative := len(digits) > 0 && digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	mantissa, point := uint64(0), -1
	for i, c := range digits {
		switch {
		case c >= '0' && c <= '9':
			mantissa = 10*mantissa + uint64(c-'0')
		case c == '.' && point < 0:
			point = i
		default:
			return 0, false
		}
	}
	after := 0
	if point >= 0 {
		after = len(digits) - 1 - point
	}
	// More digits could overflow before they are too many.
	if len(digits) == 0 || point == 0 || point >= 0 && after == 0 || len(digits) > maxShort || mantissa >= 1<<53 || after >= len(powersOfTen) {
		return 0, false
	}
	f = float64(mantissa) / powersOfTen[after]
	if negative {
		f = -f
	}
	return f, true
}

const maxShort = 19

var powersOfTen = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}
