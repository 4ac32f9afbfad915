package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/singletable/singletable/table/tablemodel"
)

// A client of the protocol's own SDK talks to the command over its input and output.
func TestMCP(t *testing.T) {
	t.Parallel()
	tbl := withItems(t)
	file := filepath.Join(t.TempDir(), "schema.json")
	model := tablemodel.Model{Table: tbl.Schema(), Entities: []tablemodel.Entity{
		{Type: "USER", Items: []tablemodel.Pattern{{PK: "USER#{userId}", SK: "PROFILE"}}},
		{Type: "TX", Items: []tablemodel.Pattern{{PK: "USER#{userId}", SK: "TX#{date}"}}},
	}}
	if err := os.WriteFile(file, []byte(encode(t, model)), 0o600); err != nil {
		t.Fatal(err)
	}
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	var stderr bytes.Buffer
	program := testProgram(nil, &stderr, nil, "", time.Minute)
	program.stdin, program.stdout = toServer, fromServer
	ended := make(chan int, 1)
	go func() {
		ended <- program.run(t.Context(), []string{"mcp", "-entity", "TX", file})
		_ = fromServer.Close()
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// What is no message does not end the session, on either side.
	if _, err := io.WriteString(fromClient, "debug: loaded\n"); err != nil {
		t.Fatal(err)
	}
	out, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_TX_by_userId", Arguments: map[string]any{"userId": "ana", "limit": 2, "from": "2024-01-29"}})
	if err != nil {
		t.Fatal(err)
	}
	text := out.Content[0].(*mcp.TextContent).Text
	if out.IsError || !strings.Contains(text, "TX#2024-01-29") || !strings.Contains(text, `"amount":28`) {
		t.Error(text)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if code := <-ended; code != exitYes {
		t.Errorf("exit %d\n%s", code, stderr.String())
	}
	if log := stderr.String(); !strings.Contains(log, "tool=list_TX_by_userId items=2") || strings.Contains(log, "ana") {
		t.Error(log)
	}
	for says, args := range map[string][]string{
		"it takes one schema file":            {},
		"standard input is the agent's":       {"-"},
		"a budget must be greater than 0":     {"-call-items", "0", file},
		"the schema file has no entity":       {"-entity", "USR", file},
		"no such file":                        {file + "x"},
		"and the tools are made of them":      {bare(t)},
		`invalid value "many" for flag -call`: {"-call-units", "many", file},
	} {
		trouble(t, run(t, nil, "", append([]string{"mcp"}, args...)...), says)
	}
}

// bare returns a schema file without entities.
func bare(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(encode(t, appCore())), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
