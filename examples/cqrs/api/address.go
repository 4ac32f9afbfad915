package api

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// addressOf returns the address of the client: that of the connection, unless it is a
// trusted proxy's. Each proxy adds the address that it was called from to X-Forwarded-For,
// behind what the client has sent. So the last address there that is no proxy's is the
// client's. A Lambda function has the address of the event, without a port.
func addressOf(r *http.Request, proxies []netip.Prefix) string {
	from, ok := parseAddress(r.RemoteAddr)
	if !ok {
		return ""
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		before, ok := parseAddress(strings.TrimSpace(hop))
		if !ok || !slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(from) }) {
			break
		}
		from = before
	}
	return from.String()
}

// parseAddress returns an address, with or without a port.
func parseAddress(text string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		var port netip.AddrPort
		port, err = netip.ParseAddrPort(text)
		address = port.Addr()
	}
	return address.Unmap().WithZone(""), err == nil
}
