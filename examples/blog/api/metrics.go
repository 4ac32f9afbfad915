package api

import (
	"math"
	"net/http"
	"regexp"
	"time"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/rest"
)

// The magnitudes of the numbers that DynamoDB stores are within these.
const minValue, maxValue = 1e-129, 1e125

type point struct {
	At    string  `json:"at"`
	Value float64 `json:"value"`
}

func pointOf(p store.Point) point { return point{httpapi.Clock(p.At), p.Value} }

// finer matches a time with more precision than a key has. [time.Parse] ignores what follows
// the nanoseconds.
var finer = regexp.MustCompile(`[.,][0-9]{3}[0-9]*[1-9]`)

// clock reads a time in milliseconds.
func clock(name, value string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, value)
	if err != nil || at.UTC().Year() < 0 || at.UTC().Year() > 9999 {
		return at, rest.BadRequest("invalid_"+name, "%s must be a time such as 2024-01-15T10:00:00Z", name)
	}
	if finer.MatchString(value) {
		return at, rest.BadRequest("invalid_"+name, "%s must be a whole number of milliseconds", name)
	}
	return at.UTC(), nil
}

// bound reads a time of the query.
func bound(r *http.Request, name string) (time.Time, error) {
	value, err := parameter(r, name)
	if err != nil {
		return time.Time{}, err
	}
	return clock(name, value)
}

// putPoint stores the value of one of the user's metrics at a time, over the one that is
// there.
func (a *API) putPoint(w http.ResponseWriter, r *http.Request, user string) error {
	at, err := clock("time", r.PathValue("time"))
	if err != nil {
		return err
	}
	var value *float64
	if err := httpapi.ReadJSON(w, r, map[string]any{"value": &value}); err != nil {
		return err
	}
	if value == nil || *value != 0 && (math.Abs(*value) < minValue || math.Abs(*value) > maxValue) {
		return rest.BadRequest("invalid_value", "value must be a number whose magnitude is 0 or from 1e-129 to 1e125")
	}
	return done(w, a.Store.Points.Save(r.Context(), &store.Point{Source: user, Name: r.PathValue("name"), At: at, Value: *value}))
}

// listPoints lists the values of one of the user's metrics, oldest first.
func (a *API) listPoints(w http.ResponseWriter, r *http.Request, user string) error {
	from, err := bound(r, "from")
	if err != nil {
		return err
	}
	to, err := bound(r, "to")
	if err != nil {
		return err
	}
	return list(a, w, r, store.PointsQuery(user, r.PathValue("name"), from, to), a.Store.Points.Query, pointOf)
}
