package httpapi

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/singletable/singletable/examples/internal/rest"
)

// CheckLocal returns an error unless the address to listen on and the URL of the
// engine are of this machine. A server for development trusts everybody, so only this
// machine may reach it, and it reaches only this machine. The URL may be empty.
func CheckLocal(addr, endpoint string) error {
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return fmt.Errorf("-addr: %w", err)
	}
	if !tcp.IP.IsLoopback() {
		return fmt.Errorf("-dev trusts everybody, so -addr has to be of this machine only, such as 127.0.0.1:8080: %q is not", addr)
	}
	if endpoint == "" {
		return nil
	}
	if u, err := url.Parse(endpoint); err != nil || !IsLoopback(u.Host) {
		return fmt.Errorf("-dev trusts everybody, so -endpoint or AWS_ENDPOINT_URL_DYNAMODB has to be of this machine, such as http://127.0.0.1:8000: %q is not", endpoint)
	}
	return nil
}

// Local refuses requests for other hosts. A web page can have its own name resolve
// to this machine, and read responses to requests that a browser sends to that
// name (DNS rebinding).
func Local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !IsLoopback(r.Host) {
			rest.Fail(w, &rest.Failure{
				Status: http.StatusMisdirectedRequest, Code: "wrong_host",
				Message: "a server for development has the host names localhost and 127.0.0.1 only",
			})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// IsLoopback reports whether a host, with or without a port, is this machine by
// its name or address.
func IsLoopback(host string) bool {
	name := (&url.URL{Host: host}).Hostname()
	ip, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && ip.IsLoopback()
}
