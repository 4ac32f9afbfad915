// Package page is the store page: plain HTML and a small script that uses the API. What
// the API returns becomes text of the page, never HTML.
package page

import (
	_ "embed"
	"net/http"
)

var (
	//go:embed index.html
	index []byte
	//go:embed shop.js
	script []byte
	//go:embed shop.css
	style []byte
)

// policy allows scripts, styles and requests of the shop's own, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// Handlers returns the handlers of the page, by patterns of [http.ServeMux].
func Handlers() map[string]http.Handler {
	return map[string]http.Handler{
		"GET /{$}":      file("text/html; charset=utf-8", index),
		"GET /shop.js":  file("text/javascript; charset=utf-8", script),
		"GET /shop.css": file("text/css; charset=utf-8", style),
	}
}

func file(contentType string, content []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		header := w.Header()
		header.Set("Content-Type", contentType)
		header.Set("Content-Security-Policy", policy)
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-cache")
		_, _ = w.Write(content) // a client that has gone gets nothing
	})
}
