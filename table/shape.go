package table

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
)

// view returns the view of the item's type, nil without one.
func (s *items) view() *item.View {
	if len(s.t.views) == 0 {
		return nil
	}
	name := s.typeText()
	for i := range s.t.views {
		if v := &s.t.views[i]; v.Type == string(name) {
			return v
		}
	}
	return nil
}

// applyView makes the value what the view says: one of the present shape, that passes its check.
// refusal is why the item does not fit.
func (s *items) applyView(value reflect.Value, refusal error, view *item.View) error {
	shape, err := view.Shape, error(nil)
	if !s.shapeless {
		shape, err = s.shape()
	}
	switch {
	case err != nil:
		return s.named(err)
	case s.isOf(view, shape) && s.keep == nil:
	default:
		refusal = s.remake(value, view, shape)
	}
	if refusal != nil || view.Check == nil {
		return refusal
	}
	if whole := view.WholeIn(value); whole.IsValid() {
		key := s.keyUnder(s.t.schema.PK, s.t.schema.SK)
		return view.Check(whole.Addr().Interface(), string(key.PK), string(key.SK))
	}
	return nil
}

// shape returns the number of the item's shape.
func (s *items) shape() (int, error) {
	w := s.watched[watchedShape]
	if w.Kind == 0 {
		return 0, nil
	}
	n, err := strconv.Atoi(string(w.Text))
	if w.Kind != item.N || err != nil || n < 0 {
		return 0, fmt.Errorf("attribute %q is not the number of a shape", s.t.schema.Shape)
	}
	return n, nil
}

// isOf reports whether the item is one of the view's shape, which no program of an older
// one has written since.
func (s *items) isOf(view *item.View, shape int) bool {
	if shape != view.Shape || view.At == "" || s.shapeless {
		return shape == view.Shape
	}
	at, version := s.watchedAs(view.At), s.watchedAs(view.Version)
	return at.Kind == version.Kind && string(at.Text) == string(version.Text)
}

func (s *items) watchedAs(name string) item.Watched {
	i := slices.IndexFunc(s.watched, func(w item.Watched) bool { return w.Name == name })
	return s.watched[i]
}

// remake makes the value of the whole item: upgraded if it has another shape than the
// view, and then cut to what is to be kept.
func (s *items) remake(value reflect.Value, view *item.View, shape int) error {
	item := s.attributes()
	if !s.isOf(view, shape) {
		if err := view.Change(item, shape); err != nil {
			return s.named(err)
		}
	}
	if keep := s.keep; keep != nil {
		maps.DeleteFunc(item, func(name string, _ types.AttributeValue) bool { return !slices.Contains(keep, name) })
	}
	value.SetZero()
	return item.Decode(value.Addr().Interface())
}
