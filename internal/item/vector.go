package item

import (
	"math"
	"reflect"
	"strconv"

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
	digits := make([]byte, 0, len(v)*digitsEach)
	ends := make([]int, len(v))
	for i, f := range v {
		digits = strconv.AppendFloat(digits, float64(f), 'f', -1, bits)
		ends[i] = len(digits)
	}
	text, numbers := string(digits), make([]types.AttributeValueMemberN, len(v))
	all := make([]types.AttributeValue, len(v))
	from := 0
	for i, end := range ends {
		numbers[i].Value, from = text[from:end], end
		all[i] = &numbers[i]
	}
	return all
}

// digitsEach is about how long the text of an element is.
const digitsEach = 12

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
	verdict := fits
	r.floats = r.floats[:0]
	ok := r.Array(func(int) bool {
		switch r.kind() {
		case N:
		case NULL:
			_, ok := r.bool()
			r.floats = append(r.floats, 0)
			return ok && r.is('}')
		default:
			verdict = misfit
			return false
		}
		digits, plain, ok := r.text()
		if !ok {
			return false
		}
		f, err := strconv.ParseFloat(string(digits), 64)
		if err != nil || !plain || p.typ.Elem() == float32Type && math.Abs(f) > math.MaxFloat32 {
			verdict = misfit
			return false
		}
		r.floats = append(r.floats, f)
		return r.is('}')
	})
	switch {
	case verdict != fits:
		return verdict
	case !ok:
		return broken
	}
	if p.typ.Elem() == float64Type {
		v.Set(reflect.ValueOf(append([]float64{}, r.floats...)).Convert(p.typ))
		return fits
	}
	all := make([]float32, len(r.floats))
	for i, f := range r.floats {
		all[i] = float32(f)
	}
	v.Set(reflect.ValueOf(all).Convert(p.typ))
	return fits
}
