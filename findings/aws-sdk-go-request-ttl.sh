#!/usr/bin/env bash
# The AWS SDK for Go v2 (core 1.48.0) tells the deadline of a request to the service in the
# zone of the caller, marked as UTC, and only if the service's clock is ahead.
#
# The header Amz-Sdk-Request has a field ttl, in which SDKs say when the caller stops waiting,
# so that a service need not work for nobody. One would expect it in UTC, since it ends in Z,
# and whenever a context has a deadline.
#   - It is the deadline's local time: of one at midnight UTC in a zone nine hours ahead it is
#     nine o'clock. So a process in Tokyo seems to wait nine hours longer than it does, and
#     one in New York to have stopped hours ago.
#   - It is left out unless the last response's Date was ahead of the local clock. Date has
#     whole seconds, which are cut off: with two clocks that agree there is hardly ever a ttl.
#
# Seen: aws-sdk-go-v2 v1.48.0 with service/dynamodb v1.74.0, Go 1.26.
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
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// server responds to everything, by a clock that is that much ahead.
type server struct{ ahead time.Duration }

func (s server) Do(r *http.Request) (*http.Response, error) {
	_, ttl, _ := strings.Cut(r.Header.Get("Amz-Sdk-Request"), "ttl=")
	fmt.Printf("  ttl %.13q\n", ttl)
	date := time.Now().Add(s.ahead).UTC().Format(http.TimeFormat)
	return &http.Response{StatusCode: 200, Header: http.Header{"Date": {date}}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

func main() {
	midnight := time.Date(2040, time.January, 1, 0, 0, 0, 0, time.UTC)
	for _, ahead := range []time.Duration{-10 * time.Second, 10 * time.Second} {
		client := dynamodb.New(dynamodb.Options{
			Region: "eu-west-1", HTTPClient: server{ahead},
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "example"}, nil
			}),
		})
		fmt.Println("clock of the service ahead by", ahead)
		for _, hours := range []int{0, 0, 9, -5} {
			zone := time.FixedZone("", hours*3600)
			ctx, cancel := context.WithDeadline(context.Background(), midnight.In(zone))
			if _, err := client.ListTables(ctx, nil); err != nil {
				panic(err)
			}
			cancel()
		}
	}
}
GO
GOFLAGS=-mod=mod GOWORK=off go get github.com/aws/aws-sdk-go-v2@v1.48.0 github.com/aws/aws-sdk-go-v2/service/dynamodb@v1.74.0 2>/dev/null

diff - <(GOFLAGS=-mod=mod GOWORK=off go run .) <<'EOT' && echo "as stated"
clock of the service ahead by -10s
  ttl ""
  ttl ""
  ttl ""
  ttl ""
clock of the service ahead by 10s
  ttl ""
  ttl "20400101T0000"
  ttl "20400101T0900"
  ttl "20391231T1900"
EOT
