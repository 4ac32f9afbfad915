package api

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
)

func TestTheAddressOfAClient(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, c := range map[string]struct {
		remote    string
		forwarded []string
		want      string
	}{
		"a connection":         {"203.0.113.7:4711", nil, "203.0.113.7"},
		"a Lambda event":       {"203.0.113.7", []string{"198.51.100.9"}, "203.0.113.7"},
		"an event, IPv6":       {"2001:db8::7", nil, "2001:db8::7"},
		"IPv6 with a zone":     {"[fe80::1%eth0]:80", nil, "fe80::1"},
		"a client that lies":   {"203.0.113.7:4711", []string{"198.51.100.9"}, "203.0.113.7"},
		"a proxy":              {"10.1.2.3:80", []string{"203.0.113.7"}, "203.0.113.7"},
		"a lie before a proxy": {"10.1.2.3:80", []string{"198.51.100.9, 203.0.113.7"}, "203.0.113.7"},
		"two proxies":          {"[fd00::1]:80", []string{"198.51.100.9", "203.0.113.7,10.9.9.9"}, "203.0.113.7"},
		"mapped IPv4":          {"[::ffff:10.1.2.3]:80", []string{"203.0.113.7:4711"}, "203.0.113.7"},
		"nothing forwarded":    {"10.1.2.3:80", nil, "10.1.2.3"},
		"nonsense forwarded":   {"10.1.2.3:80", []string{"203.0.113.7, unknown"}, "10.1.2.3"},
		"proxies only":         {"10.1.2.3:80", []string{"10.4.5.6"}, "10.4.5.6"},
		"no address":           {"@", []string{"203.0.113.7"}, ""},
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		check.Equal(t, name, addressOf(r, proxies), c.want)
	}
	r := &http.Request{RemoteAddr: "10.1.2.3:80", Header: http.Header{"X-Forwarded-For": {"203.0.113.7"}}}
	check.Equal(t, "without trust", addressOf(r, nil), "10.1.2.3")
}
