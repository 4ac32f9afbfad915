#!/usr/bin/env bash
# The Go SDK of the Model Context Protocol, v1.8.0, answers a request under another id.
#
# JSON-RPC lets an id be any number, and says that a response has the id of its request. The
# SDK reads a number as a float64 and makes an int64 of it. So an integer above 2^53 is answered
# under a neighbour's id, and a fraction under a whole number: the client waits for ever, or
# takes the response for that of another request. Clients that count from 1 never notice.
#
# Seen: github.com/modelcontextprotocol/go-sdk v1.8.0 with Go 1.26.
set -euo pipefail
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"

cat >go.mod <<'MOD'
module seen

go 1.26
MOD
cat >main.go <<'GO'
package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "seen", Version: "1"}, nil)
	_ = server.Run(context.Background(), &mcp.StdioTransport{})
}
GO
export GOFLAGS=-mod=mod GOWORK=off
go get github.com/modelcontextprotocol/go-sdk@v1.8.0 2>/dev/null
go build -o seen . 2>/dev/null

ask() { # ask ID: print the id of the response to a ping
	{
		echo '{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"seen","version":"1"}}}'
		echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
		echo "{\"jsonrpc\":\"2.0\",\"id\":$1,\"method\":\"ping\"}"
		sleep 1 # the end of the input ends the server
	} | ./seen | grep -v '"id":"first"' | sed 's/.*"id":\([^,}]*\).*/\1/'
}

diff - <(for id in 7 9007199254740991 9007199254740993 1.5; do echo "$id: $(ask "$id")"; done) <<'EOT' && echo "as stated"
7: 7
9007199254740991: 9007199254740991
9007199254740993: 9007199254740992
1.5: 1
EOT
