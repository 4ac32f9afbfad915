package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/singletable/singletable/examples/internal/rest"
	"github.com/singletable/singletable/examples/internal/strictjson"
)

const (
	// maxBody bounds the body of a request.
	maxBody = 64 << 10
	// bodyTime bounds how long it takes to arrive. It is less than requestTime,
	// so that the rest is enough for the service.
	bodyTime = 5 * time.Second
)

// Bearer returns the access token of a request. Its error matches [ErrUnauthorized], and
// says for the log what was wrong.
func Bearer(h http.Header) (string, error) {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return "", fmt.Errorf("%w: %d Authorization headers", ErrUnauthorized, len(values))
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", fmt.Errorf("%w: no bearer token", ErrUnauthorized)
	}
	return token, nil
}

// Page is the page of a list that a request asks for.
type Page struct {
	Limit int
	// After is the lastKey of the page before; empty for the first page.
	After string
}

// MaxLimit is the greatest length of a page.
const MaxLimit = 100

// DefaultLimit is the length of a page of [WriteList] if the request names none.
const DefaultLimit = 20

// PageOf returns the page that a request asks for.
func PageOf(r *http.Request, defaultLimit int) (Page, error) {
	p := Page{Limit: defaultLimit}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return p, rest.BadRequest("invalid_query", "the query string is malformed")
	}
	for name, values := range query {
		if len(values) > 1 && (name == "limit" || name == "lastKey") {
			return p, rest.BadRequest("invalid_query", "%s is there twice", name)
		}
	}
	p.After = query.Get("lastKey")
	if query.Has("limit") {
		p.Limit, err = strconv.Atoi(query.Get("limit"))
		if err != nil || p.Limit < 1 || p.Limit > MaxLimit {
			return p, rest.BadRequest("invalid_limit", "limit must be a whole number from 1 to %d", MaxLimit)
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
		return nil, rest.BadRequest("invalid_body", "the body could not be read")
	}
	_ = conn.SetReadDeadline(time.Time{})
	return body, nil
}

// ReadJSON reads the body of a request: a JSON object with the members that are named,
// each once, and nothing else. See [strictjson.Object].
func ReadJSON(w http.ResponseWriter, r *http.Request, members map[string]any) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	err = strictjson.Object(body, members)
	wrong, _ := errors.AsType[*strictjson.MemberError](err)
	switch {
	case err == nil:
		return nil
	case wrong != nil:
		return rest.BadRequest("invalid_"+wrong.Name, "the field %s has the wrong type or is out of range", wrong.Name)
	case errors.Is(err, strictjson.ErrUnknown):
		return rest.BadRequest("unknown_field", "the body has a field that is not known")
	case errors.Is(err, strictjson.ErrDuplicate):
		return rest.BadRequest("duplicate_field", "the body has a field twice")
	}
	return rest.BadRequest("invalid_json", "the body must be one JSON object in UTF-8, and nothing after it")
}
