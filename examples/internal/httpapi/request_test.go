package httpapi_test

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/rest"
	"github.com/singletable/singletable/examples/internal/strictjson"
)

func TestABodyIsReadStrictly(t *testing.T) {
	t.Parallel()
	for body, code := range map[string]string{
		`{"name":"Ana","tags":{"a":1},"rows":[{"id":"1"}]}`: "",
		`{"name":"\ud83d\ude00 \\ud800"}`:                   "", // a pair, and an escaped backslash
		"{\"name\":\"\u2028\ufffd\"}":                       "",
		``:                                                  "invalid_json",
		`null`:                                              "invalid_json",
		`[]`:                                                "invalid_json",
		`{"name":"Ana"`:                                     "invalid_json",
		`{"name":"Ana"}{}`:                                  "invalid_json",
		"{\"name\":\"\xff\"}":                               "invalid_json",
		`{"name":"\ud800"}`:                                 "invalid_json",
		`{"name":"\ude00\ud83d"}`:                           "invalid_json",
		`{"name":"\ud83dx\ude00"}`:                          "invalid_json",
		`{"name":"\uD83D\u0041"}`:                           "invalid_json",
		`{"tags":{"\udfff":1}}`:                             "invalid_json",
		`{"Name":"Ana"}`:                                    "unknown_field",
		`{"nam":"Ana"}`:                                     "unknown_field",
		`{"name":"Ana","name":"Bob"}`:                       "duplicate_field",
		`{"name":"Ana","n\u0061me":"Bob"}`:                  "duplicate_field",
		`{"tags":{"a":1,"a":2}}`:                            "duplicate_field",
		`{"tags":{"a":[{"b":1,"b":1}]}}`:                    "duplicate_field",
		`{"rows":[{"id":"1"},{"id":"2","id":"3"}]}`:         "duplicate_field",
		`{"rows":[{"ID":"1"}]}`:                             "unknown_field",
		`{"rows":[{"id":"1","ids":"2"}]}`:                   "unknown_field",
		`{"rows":[{"id":1}]}`:                               "invalid_id",
		`{"rows":[null]}`:                                   "invalid_rows",
		`{"rows":[[]]}`:                                     "invalid_rows",
		`{"rows":{}}`:                                       "invalid_rows",
		`{"name":1}`:                                        "invalid_name",
	} {
		var name string
		var tags map[string]any
		var rows []row
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		err := httpapi.ReadJSON(httptest.NewRecorder(), r, map[string]any{"name": &name, "tags": &tags, "rows": &rows})
		failure, _ := errors.AsType[*rest.Failure](err)
		if code == "" {
			check.Is(t, err, nil, body)
		} else if failure == nil || failure.Code != code || failure.Status != 400 {
			t.Errorf("%s: %v, want %s", body, err, code)
		}
	}
}

// row is an object within a body.
type row struct{ id string }

func (r *row) UnmarshalJSON(text []byte) error {
	return strictjson.Object(text, map[string]any{"id": &r.id})
}
