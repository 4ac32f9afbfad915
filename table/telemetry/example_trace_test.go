package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/table/telemetry"
)

// A trace of a running service is an input of the simulator. It shows that one key was
// requested twice, and not which one.
func ExampleTrace() {
	trace := telemetry.Trace{Sample: 5000, Prefixes: []keys.Prefix{keys.User}}
	tbl, drop := exampleTable(trace.Observe)
	defer drop()
	ctx := context.Background()
	for _, user := range []string{"ana", "bob", "ana"} {
		if err := list(ctx, tbl, user); err != nil {
			log.Fatal(err)
		}
	}
	var file bytes.Buffer
	if _, err := trace.WriteTo(&file); err != nil {
		log.Fatal(err)
	}
	fmt.Println("has a key:", bytes.Contains(file.Bytes(), []byte("ana")))
	lines := json.NewDecoder(&file)
	var head struct{ Version, Requests, Sampled int }
	if err := lines.Decode(&head); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", head)
	times := map[string]int{}
	for lines.More() {
		var r struct {
			Operation, Pattern string
			Keys               []string
			Units              float64
		}
		if err := lines.Decode(&r); err != nil {
			log.Fatal(err)
		}
		times[r.Keys[0]]++
		fmt.Println(r.Pattern, r.Operation, r.Keys[0][:len("USER#")], r.Units, times[r.Keys[0]])
	}
	// Output:
	// has a key: false
	// {Version:1 Requests:3 Sampled:3}
	// list transactions Query USER# 0.5 1
	// list transactions Query USER# 0.5 1
	// list transactions Query USER# 0.5 2
}
