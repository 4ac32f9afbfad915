package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/singletable/singletable/examples/internal/check"
	"github.com/singletable/singletable/examples/internal/program"
)

// The process is killed while clients publish commands. Another one has each command that
// was acknowledged: in the history, in the data and in the relational read model.
func TestAKilledProcessLosesNoCommand(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "cqrs.db")
	s := start(t, "-data", data)
	token := s.token(t)
	const writers, before = 8, 200
	var acknowledged [writers]int
	var all atomic.Int64
	enough := make(chan struct{})
	written := make(chan struct{})
	go func() {
		defer close(written)
		check.Together(writers, func(i int) {
			for version := 0; ; version++ {
				body := fmt.Sprintf(`{"type":"PRODUCT","path":["P-%d"],"name":"Product %d","attributes":{"price":%d},"version":%d}`, i, i, version+1, version)
				status, _, err := request(t.Context(), s.URL+"/records", token, "", body)
				if err != nil || status != http.StatusOK {
					return // it was killed
				}
				acknowledged[i]++
				if all.Add(1) == before {
					close(enough)
				}
			}
		})
	}()
	<-enough
	check.OK(t, s.Cmd.Process.Kill())
	<-written
	if <-s.Exited == nil {
		t.Error("it was not killed")
	}

	s = start(t, "-data", data)
	token = s.token(t)
	get := func(path string, into any) error {
		_, text, err := request(t.Context(), s.URL+path, token, "", "")
		if err != nil {
			return err
		}
		return json.Unmarshal([]byte(text), into)
	}
	type record struct {
		Version, Versions int
		Attributes        struct{ Price int }
		Items             []record
	}
	published := 0
	for i, versions := range acknowledged {
		var last, now record
		check.OK(t, get(fmt.Sprintf("/record/version?type=PRODUCT&path=P-%d&version=%d", i, versions), &last))
		check.Equal(t, "price of the last version that was acknowledged", last.Attributes.Price, versions)
		// One more may have been stored, whose response was not sent.
		check.OK(t, program.Until(t.Context(), func() (bool, error) {
			err := get(fmt.Sprintf("/record?type=PRODUCT&path=P-%d", i), &now)
			return now.Version >= versions, err
		}))
		published += versions
	}
	check.OK(t, program.Until(t.Context(), func() (bool, error) {
		var found, counted record
		if err := get("/search?name=product", &found); err != nil {
			return false, err
		}
		ok := len(found.Items) == writers
		for i, r := range found.Items {
			ok = ok && r.Version >= acknowledged[i]
		}
		err := get("/counts", &counted)
		return ok && len(counted.Items) == 1 && counted.Items[0].Versions >= published, err
	}))
	t.Logf("%d commands were acknowledged when it was killed", published)
}
