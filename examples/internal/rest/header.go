package rest

import (
	"net/http"
	"strings"
)

// SetETag sets the ETag of a response. An empty tag sets none.
//
// A tag tells two bodies apart. The revision of an entity does, if the body shows nothing that
// changes without a new one. What [repo.Counter] counts does: then the tag is of both, the
// revision and the numbers, and [IfMatch] is compared with that.
func SetETag(h http.Header, tag string) {
	if tag != "" {
		h.Set("ETag", `"`+tag+`"`)
	}
}

// IfMatch returns the tag in the If-Match of a request, empty for "*". Without the header it is
// a [Failure] with status 428. It takes one strong ETag: several, or a weak one, which matches
// nothing, are a 400.
func IfMatch(h http.Header) (tag string, err error) {
	switch value := h.Get("If-Match"); {
	case value == "":
		return "", &Failure{http.StatusPreconditionRequired, "missing_if_match", "an If-Match with the ETag of what is changed is required"}
	case len(h.Values("If-Match")) > 1 || strings.Contains(value, ","):
		return "", BadRequest("invalid_if_match", "there must be one If-Match, with one ETag")
	case value == "*":
		return "", nil
	case len(value) > 2 && strings.HasPrefix(value, `"`) && strings.HasSuffix(value, `"`):
		return value[1 : len(value)-1], nil
	}
	return "", BadRequest("invalid_if_match", "If-Match must be an ETag, in quotes")
}

// IdempotencyKey returns the Idempotency-Key of a request, empty if it has none. Package
// idempotency says what a key may look like. A comma is refused here: API Gateway joins two
// headers with one. AWS: "Create AWS Lambda proxy integrations for HTTP APIs in API Gateway",
// Amazon API Gateway Developer Guide.
func IdempotencyKey(h http.Header) (string, error) {
	key := h.Get("Idempotency-Key")
	if len(h.Values("Idempotency-Key")) > 1 || strings.Contains(key, ",") {
		return "", BadRequest("invalid_idempotency_key", "there must be one Idempotency-Key, without a comma")
	}
	return key, nil
}
