package item

import (
	"reflect"
	"strconv"
	"time"
)

// verdict is how reading a value ended. Whatever it is, the value may be half
// filled unless it fits.
type verdict byte

const (
	fits verdict = iota
	// misfit means that it is for attributevalue to say what becomes of the
	// attribute.
	misfit
	// broken means that it is for the SDK to say what the response means.
	broken
	// refused means that attributevalue has refused an attribute: Parser.err.
	refused
)

// judge returns fits for what was read as it should be.
func judge(ok bool) verdict {
	if ok {
		return fits
	}
	return broken
}

// decode reads an attribute value into v, which must be zero. It returns misfit
// anywhere behind the value's beginning.
func (p *plan) decode(r *Parser, v reflect.Value, o options) verdict {
	if verdict := p.content(r, r.kind(), v, o); verdict != fits {
		return verdict
	}
	return judge(r.is('}'))
}

// content reads what an attribute value of a kind holds.
func (p *plan) content(r *Parser, k Kind, v reflect.Value, o options) verdict {
	switch k {
	case 0:
		return broken
	case S, N:
		return p.scalar(r, k, v, o)
	case NULL:
		_, ok := r.bool()
		if p.form == foreign {
			return misfit
		}
		v.SetZero()
		return judge(ok)
	}
	switch p.form {
	case boolean:
		if k == BOOL {
			b, ok := r.bool()
			v.SetBool(b)
			return judge(ok)
		}
	case blob:
		if k == B {
			b, ok := r.binary()
			v.SetBytes(b)
			return judge(ok)
		}
	case pointer:
		v.Set(reflect.New(p.typ.Elem()))
		return p.elem.content(r, k, v.Elem(), o)
	case texts:
		if k == L || k == SS {
			return p.texts(r, k, v)
		}
	case slice:
		switch {
		case k == L && p.isVector():
			return p.vector(r, v)
		case k == L || k == SS || k == NS || k == BS:
			return p.slice(r, k, v)
		}
	case structure:
		if k == M {
			return r.namesOf(p).structure(r, v)
		}
	case dictionary:
		if k == M {
			return p.dictionary(r, v)
		}
	case anything:
		return r.anything(k, v)
	}
	return misfit
}

// scalar reads what a string or number holds, also as an element of a set.
func (p *plan) scalar(r *Parser, k Kind, v reflect.Value, o options) verdict {
	switch {
	case p.form == pointer:
		v.Set(reflect.New(p.typ.Elem()))
		return p.elem.scalar(r, k, v.Elem(), o)
	case p.form == anything && !o.asText:
		return r.anything(k, v)
	}
	b, plain, ok := r.text()
	if !ok {
		return broken
	}
	return p.text(r, k, b, plain, v, o)
}

// text stores what a string or number holds; b is that itself if it is plain.
func (p *plan) text(r *Parser, k Kind, b []byte, plain bool, v reflect.Value, o options) verdict {
	switch p.form {
	case text:
		if o.asText {
			return misfit
		}
		r.loose = r.loose || k == N
		v.SetString(r.keep(b, plain))
		return fits
	case moment:
		t, ok := parseTime(k, b)
		if !ok || !plain || o.asText {
			return misfit
		}
		*v.Addr().Interface().(*time.Time) = t
		return fits
	}
	if !plain || k == S && !o.asText {
		return misfit
	}
	return p.number(b, v)
}

func (p *plan) number(b []byte, v reflect.Value) verdict {
	switch p.form {
	case integer:
		i, err := strconv.ParseInt(string(b), 10, 64)
		if err != nil || v.OverflowInt(i) {
			return misfit
		}
		v.SetInt(i)
	case unsigned:
		u, err := strconv.ParseUint(string(b), 10, 64)
		if err != nil || v.OverflowUint(u) {
			return misfit
		}
		v.SetUint(u)
	case float:
		f, err := strconv.ParseFloat(string(b), 64)
		if err != nil || v.OverflowFloat(f) {
			return misfit
		}
		v.SetFloat(f)
	default:
		return misfit
	}
	return fits
}

// texts reads a list or set of strings into a []string.
func (p *plan) texts(r *Parser, k Kind, v reflect.Value) verdict {
	verdict := fits
	r.strings, r.long = r.strings[:0], false
	ok := r.Array(func(int) bool {
		if k == L {
			switch r.kind() {
			case S, N:
			case NULL:
				_, ok := r.bool()
				r.strings = append(r.strings, "")
				return ok && r.is('}')
			default:
				verdict = misfit
				return false
			}
		}
		s, ok := r.string()
		r.strings = append(r.strings, s)
		return ok && (k != L || r.is('}'))
	})
	if verdict == fits && !ok {
		return broken
	}
	*v.Addr().Interface().(*[]string) = r.list()
	return verdict
}

// list returns the strings that were collected. Short lists share memory, as
// strings do, except for the room to append.
func (r *Parser) list() []string {
	n := len(r.strings)
	if n == 0 || n > cap(r.lists)-len(r.lists) || r.long {
		size := min(listSize, r.Rest()/bytesPerList)
		if n == 0 || n > size/4 || r.long {
			return append(make([]string, 0, n), r.strings...)
		}
		r.lists = make([]string, 0, size)
	}
	from, to := len(r.lists), len(r.lists)+n
	r.lists = append(r.lists, r.strings...)
	return r.lists[from:to:to]
}

func (p *plan) slice(r *Parser, k Kind, v reflect.Value) verdict {
	verdict := fits
	v.Set(reflect.MakeSlice(p.typ, 0, 0))
	ok := r.Array(func(i int) bool {
		v.Grow(1)
		v.SetLen(i + 1)
		switch elem := v.Index(i); k {
		case L:
			verdict = p.elem.decode(r, elem, options{})
		case SS:
			verdict = p.elem.scalar(r, S, elem, options{})
		case NS:
			verdict = p.elem.scalar(r, N, elem, options{})
		case BS:
			verdict = p.elem.content(r, B, elem, options{})
		}
		return verdict == fits
	})
	if verdict != fits {
		return verdict
	}
	return judge(ok)
}

func (p *plan) dictionary(r *Parser, v reflect.Value) verdict {
	verdict := fits
	v.Set(reflect.MakeMap(p.typ))
	ok := r.Object(func(name []byte) bool {
		key := reflect.New(p.typ.Key()).Elem()
		key.SetString(string(name))
		elem := reflect.New(p.typ.Elem()).Elem()
		verdict = p.elem.decode(r, elem, options{})
		v.SetMapIndex(key, elem)
		return verdict == fits
	})
	if verdict != fits {
		return verdict
	}
	return judge(ok)
}

// anything reads into an empty interface what attributevalue would put there.
func (r *Parser) anything(k Kind, v reflect.Value) verdict {
	if k == M {
		m := map[string]any{}
		verdict := planOf(reflect.TypeFor[map[string]any]()).dictionary(r, reflect.ValueOf(&m).Elem())
		v.Set(reflect.ValueOf(m))
		return verdict
	}
	if k == L {
		var l []any
		verdict := planOf(reflect.TypeFor[[]any]()).slice(r, k, reflect.ValueOf(&l).Elem())
		v.Set(reflect.ValueOf(l))
		return verdict
	}
	p, ok := r.parts(k)
	if !ok {
		return broken
	}
	var made any
	switch k {
	case S:
		made = p.Text
	case N:
		f, err := strconv.ParseFloat(p.Text, 64)
		if err != nil {
			return misfit
		}
		made = f
	case B:
		made = p.Bytes
	case BOOL:
		made = p.Bool
	case SS:
		made = p.Texts
	case BS:
		made = p.Blobs
	default:
		return misfit
	}
	v.Set(reflect.ValueOf(made))
	return fits
}
