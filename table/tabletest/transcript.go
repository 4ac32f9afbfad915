package tabletest

import (
	"encoding/json"
	"strings"
)

// Transcript returns requests as text to compare with a golden file: each as
// indented JSON under its operation, members in alphabetical order. The
// ClientRequestToken of a transaction, which is new each time, is written TOKEN.
// What else differs from run to run, such as the table's name, is for the replacer; nil
// replaces nothing. Concurrent requests are in any order.
func Transcript(requests []Request, replacer *strings.Replacer) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	for _, r := range requests {
		body := decoded(r.Body)
		if members, ok := body.(map[string]any); ok && members["ClientRequestToken"] != nil {
			members["ClientRequestToken"] = "TOKEN"
		}
		// Anything that JSON was decoded to can be encoded.
		_ = enc.Encode(map[string]any{r.Operation: body})
	}
	if replacer == nil {
		return b.String()
	}
	return replacer.Replace(b.String())
}
