package view

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// policy is the Content-Security-Policy of every response. Styles, scripts and the icon
// are files of the program, so nothing within a page can be one.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// guard admits requests to next.
//
//   - The host has to be one of the loopback addresses with the port. Otherwise a page of
//     another site whose name resolves to 127.0.0.1 could read the tables.
//   - The token in the address becomes a cookie and leaves the address. A browser sends a
//     cookie of 127.0.0.1 to all of its ports, so the cookie is for the root only. No
//     other server learns the root: no page links to another site or sends a referrer.
//   - Without the cookie, or outside of the root, there is nothing.
//   - A page of another origin can neither send a request nor frame a page. Other ports
//     of the machine are other origins, though SameSite admits them.
//   - Requests other than GET and HEAD exist only if items may be changed, and then as forms
//     of this origin.
func (s *server) guard(next http.Handler) http.Handler {
	cookie := "singletable-" + strconv.Itoa(s.options.Port)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		// Nothing is sent to other sites. With no-referrer, browsers would send the forms
		// of this one with the origin null.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !slices.Contains(hosts(s.options.Port), r.Host):
			refuse(w, http.StatusForbidden, "This server is for the address that singletable view has printed, and for no other host.")
		case !s.takes(r.Method):
			refuse(w, http.StatusForbidden, "The pages are read only.")
		case r.Method == http.MethodPost && r.Header.Get("Origin") != "http://"+r.Host:
			refuse(w, http.StatusForbidden, "A page of another origin has sent this form.")
		case !strings.HasPrefix(r.URL.Path, string(s.root)+"/"):
			refuse(w, http.StatusUnauthorized, unopened)
		case r.URL.Query().Has("token"):
			s.admit(w, r, cookie)
		case !s.admitted(r, cookie):
			refuse(w, http.StatusUnauthorized, unopened)
		case !slices.Contains([]string{"", "none", "same-origin"}, r.Header.Get("Sec-Fetch-Site")):
			refuse(w, http.StatusForbidden, "A page of another origin has sent this request.")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// unopened says why a request without the cookie, or outside of its path, gets nothing.
const unopened = "Open the address that singletable view has printed: it holds the token.\n" +
	"If a link has led here from it, press Enter in the address bar."

// takes reports whether there are requests of this method.
func (s *server) takes(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || s.options.Write && method == http.MethodPost
}

// hosts returns the values of the header Host that are this machine's own.
func hosts(port int) []string {
	return []string{fmt.Sprintf("127.0.0.1:%d", port), fmt.Sprintf("[::1]:%d", port), fmt.Sprintf("localhost:%d", port)}
}

// admit handles a request that has a token in its address.
func (s *server) admit(w http.ResponseWriter, r *http.Request, cookie string) {
	q := r.URL.Query()
	if !s.isToken(q.Get("token")) {
		refuse(w, http.StatusUnauthorized, "The token is not the one of this server. Open the address that singletable view has printed.")
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookie, Value: s.options.Token, Path: string(s.root) + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	q.Del("token")
	// The path alone begins with the root, so it leads to no other host.
	to := url.URL{Path: r.URL.Path, RawQuery: q.Encode()}
	w.Header().Set("Location", to.RequestURI())
	w.WriteHeader(http.StatusSeeOther)
}

func (s *server) admitted(r *http.Request, cookie string) bool {
	return slices.ContainsFunc(r.CookiesNamed(cookie), func(c *http.Cookie) bool { return s.isToken(c.Value) })
}

// isToken compares in constant time, whatever the lengths.
func (s *server) isToken(text string) bool {
	got, want := sha256.Sum256([]byte(text)), sha256.Sum256([]byte(s.options.Token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// refuse responds in plain text.
func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, why)
}
