package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// maxBody bounds the body of a request.
	maxBody = 64 << 10
	// bodyTime bounds how long it takes to arrive. It is less than requestTime,
	// so that the rest is enough for the service.
	bodyTime = 5 * time.Second
)

// BadRequest returns the error of an invalid request: a response with status 400.
func BadRequest(code, format string, args ...any) error {
	return &Failure{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
}

// Bearer returns the access token of a request. Its error is no [Failure]: it says
// for the log what was wrong.
func Bearer(h http.Header) (string, error) {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return "", fmt.Errorf("%d Authorization headers", len(values))
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", errors.New("no bearer token")
	}
	return token, nil
}

// IdempotencyKey returns the Idempotency-Key of a request, empty if it has none. The service says what a key may
// look like. A comma is refused here: API Gateway joins two headers with one.
func IdempotencyKey(h http.Header) (string, error) {
	key := h.Get("Idempotency-Key")
	if len(h.Values("Idempotency-Key")) > 1 || strings.Contains(key, ",") {
		return "", BadRequest("invalid_idempotency_key", "there must be one Idempotency-Key, without a comma")
	}
	return key, nil
}

// ETag returns the ETag of a revision.
func ETag(revision string) string { return `"` + revision + `"` }

// IfMatch returns the revision in the If-Match of a request, empty for "*". An
// ETag that is not of this API, such as a weak one, matches no revision.
func IfMatch(h http.Header) (string, error) {
	switch value := h.Get("If-Match"); {
	case value == "":
		return "", errNoIfMatch
	case len(h.Values("If-Match")) > 1 || strings.Contains(value, ","):
		return "", BadRequest("invalid_if_match", "there must be one If-Match, with one ETag")
	case value == "*":
		return "", nil
	case len(value) > 2 && strings.HasPrefix(value, `"`) && strings.HasSuffix(value, `"`):
		return value[1 : len(value)-1], nil
	}
	return "", BadRequest("invalid_if_match", "If-Match must be an ETag, in quotes")
}

// Page is the page of a list that a request asks for.
type Page struct {
	Limit int
	// After is the lastKey of the page before; empty for the first page.
	After string
}

// PageOf returns the page that a request asks for. A limit that is not a number is 0,
// which is for the caller to refuse.
func PageOf(r *http.Request, defaultLimit int) (Page, error) {
	p := Page{Limit: defaultLimit}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return p, BadRequest("invalid_query", "the query string is malformed")
	}
	for name, values := range query {
		if len(values) > 1 && (name == "limit" || name == "lastKey") {
			return p, BadRequest("invalid_query", "%s is there twice", name)
		}
	}
	p.After = query.Get("lastKey")
	if query.Has("limit") {
		p.Limit, err = strconv.Atoi(query.Get("limit"))
		if err != nil {
			p.Limit = 0
		}
	}
	return p, nil
}

// readBody reads the body of a request. A body that is late is the client's
// fault, so it does not use up the time of the service.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	// Not all servers have deadlines: in a Lambda function, the body is there.
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(bodyTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case tooLarge:
		return nil, errTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, errSlow
	case err != nil:
		return nil, BadRequest("invalid_body", "the body could not be read")
	}
	_ = conn.SetReadDeadline(time.Time{})
	return body, nil
}

// ReadJSON reads the body of a request: a JSON object with the members that are
// named, each once, and nothing else. That is stricter than package json, which
// takes Amount for amount and the last of several.
func ReadJSON(w http.ResponseWriter, r *http.Request, members map[string]any) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	if !utf8.Valid(body) {
		// The decoder would replace what is not, and make different texts the same one.
		return BadRequest("invalid_json", "the body must be UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := readObject(decoder, members); err != nil {
		if _, known := errors.AsType[*Failure](err); known {
			return err
		}
		return BadRequest("invalid_json", "the body must be one JSON object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return BadRequest("invalid_json", "the body must be one JSON object and nothing after it")
	}
	return nil
}

func readObject(decoder *json.Decoder, members map[string]any) error {
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return errors.New("no object")
	}
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		member, known := members[name]
		switch {
		case !known:
			return BadRequest("unknown_field", "the body has a field that is not known")
		case seen[name]:
			return BadRequest("duplicate_field", "the field %s is there twice", name)
		}
		seen[name] = true
		err = decoder.Decode(member)
		if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); wrong {
			return BadRequest("invalid_"+name, "the field %s has the wrong type or is out of range", name)
		}
		if err != nil {
			return err
		}
	}
	_, err := decoder.Token()
	return err
}
