package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// server is a server under load.
type server struct {
	name, url string
	token     func(user string) (string, error)
	clients   []*client

	mu      sync.Mutex
	times   map[string][]time.Duration // of the requests of each endpoint
	status  map[int]int                // how many responses have it; 0 is no response
	elapsed time.Duration
	rates   []float64 // requests a second of each round
}

// join makes the clients, each a user of its own.
func (s *server) join(clients int) error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = clients
	transport.Proxy = nil
	to := &http.Client{
		Transport: transport, Timeout: 30 * time.Second,
		// A redirect could lead away from this machine.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	run := strings.ToLower(rand.Text()[:8])
	s.times, s.status = map[string][]time.Duration{}, map[int]int{}
	for i := range clients {
		token, err := s.token(fmt.Sprintf("load-%s-%d", run, i))
		if err != nil {
			return err
		}
		s.clients = append(s.clients, &client{
			server: s, http: to, token: token, ids: map[string]string{},
			// Both servers get the same requests.
			random: mathrand.New(mathrand.NewPCG(1, uint64(i))),
		})
	}
	return nil
}

// round has the clients send requests, until there are enough or the time is over.
func (s *server) round(ctx context.Context, requests int, limit time.Duration) {
	start, before := time.Now(), s.count()
	var sent atomic.Int64
	var group sync.WaitGroup
	for _, c := range s.clients {
		group.Go(func() {
			for time.Since(start) < limit && ctx.Err() == nil && sent.Add(1) <= int64(requests) {
				c.step(ctx)
			}
		})
	}
	group.Wait()
	took := time.Since(start)
	s.elapsed += took
	s.rates = append(s.rates, float64(s.count()-before)/took.Seconds())
}

// count returns how many requests were sent.
func (s *server) count() (n int) {
	for _, times := range s.times {
		n += len(times)
	}
	return n
}

// verify returns how many idempotency keys were used. The error says which have not
// made exactly one transaction.
func (s *server) verify(ctx context.Context) (keys int, err error) {
	for _, c := range s.clients {
		if err := c.verify(ctx); err != nil {
			return 0, err
		}
		keys += len(c.keys)
	}
	return keys, nil
}

// client is one user that sends one request after the other.
type client struct {
	server *server
	http   *http.Client
	token  string
	random *mathrand.Rand

	keys   []string          // that were used so far
	ids    map[string]string // the transaction of each key that got one
	cursor string            // where the list of transactions goes on
	wrong  []error
}

// step sends a request: of 100, 30 create a transaction, every third with a key
// that was used before; 30 get one, 20 follow the list of transactions, 10 get the
// newest of all users, 10 the notifications.
func (c *client) step(ctx context.Context) {
	roll := c.random.IntN(100)
	switch {
	case len(c.keys) == 0, roll < 20:
		c.keys = append(c.keys, fmt.Sprintf("key-%d", len(c.keys)))
		c.create(ctx, c.keys[len(c.keys)-1])
	case roll < 30:
		c.create(ctx, c.keys[c.random.IntN(len(c.keys))])
	case roll < 60:
		if id := c.ids[c.keys[c.random.IntN(len(c.keys))]]; id != "" {
			c.get(ctx, id)
		}
	case roll < 80:
		_, c.cursor = c.list(ctx, "/transactions?limit=10", c.cursor)
	case roll < 90:
		c.list(ctx, "/transactions/global", "")
	default:
		c.list(ctx, "/notifications", "")
	}
}

type transaction struct {
	ID string `json:"txId"`
}

// create creates a transaction, and reports whether the key is known to have one.
func (c *client) create(ctx context.Context, key string) bool {
	var t transaction
	if c.send(ctx, http.MethodPost, "/transactions", key, `{"amount":500,"currency":"ARS"}`, &t) != http.StatusCreated {
		return false
	}
	if former := c.ids[key]; t.ID == "" || former != "" && former != t.ID {
		c.wrong = append(c.wrong, fmt.Errorf("%s made %q and %q", key, former, t.ID))
	}
	c.ids[key] = t.ID
	return true
}

func (c *client) get(ctx context.Context, id string) {
	var t transaction
	if c.send(ctx, http.MethodGet, "/transactions/"+id, "", "", &t) == http.StatusOK && t.ID != id {
		c.wrong = append(c.wrong, fmt.Errorf("got %q for %q", t.ID, id))
	}
}

// list returns the ids of a page and the cursor of the next one.
func (c *client) list(ctx context.Context, path, cursor string) (ids []string, next string) {
	if cursor != "" {
		path += "&lastKey=" + url.QueryEscape(cursor)
	}
	var page struct {
		Items   []transaction `json:"items"`
		LastKey string        `json:"lastKey"`
	}
	if c.send(ctx, http.MethodGet, path, "", "", &page) != http.StatusOK {
		return nil, ""
	}
	for _, t := range page.Items {
		ids = append(ids, t.ID)
	}
	return ids, page.LastKey
}

// send sends a request and counts it. It returns the status, 0 without a response.
func (c *client) send(ctx context.Context, method, path, key, body string, into any) int {
	start := time.Now()
	status, err := c.exchange(ctx, method, path, key, body, into)
	took := time.Since(start)
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	endpoint, _, _ := strings.Cut(path, "?")
	if strings.HasPrefix(endpoint, "/transactions/tx-") {
		endpoint = "/transactions/{id}"
	}
	endpoint = method + " " + endpoint
	s.times[endpoint] = append(s.times[endpoint], took)
	s.status[status]++
	if err != nil && status/100 == 2 {
		c.wrong = append(c.wrong, fmt.Errorf("%s: %w", method, err))
	}
	return status
}

func (c *client) exchange(ctx context.Context, method, path, key, body string, into any) (int, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.server.url+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	if resp.StatusCode/100 != 2 {
		return resp.StatusCode, nil
	}
	return resp.StatusCode, json.Unmarshal(text, into)
}

// attempts is how often verify repeats a request, a second apart.
const attempts = 10

// verify compares the transactions of the user with the keys. A key whose requests
// got no good response is used once more.
func (c *client) verify(ctx context.Context) error {
	wrong := c.wrong
	for _, key := range c.keys {
		for try := 0; c.ids[key] == "" && !c.create(ctx, key); try++ {
			if try == attempts {
				return fmt.Errorf("%s: no transaction after %d attempts", key, try)
			}
			if err := pause(ctx); err != nil {
				return err
			}
		}
	}
	listed, err := c.all(ctx)
	if err != nil {
		return err
	}
	for _, key := range c.keys {
		if n := listed[c.ids[key]]; n != 1 {
			wrong = append(wrong, fmt.Errorf("%s: its transaction is listed %d times", key, n))
		}
	}
	if len(listed) != len(c.keys) {
		wrong = append(wrong, fmt.Errorf("%d keys have made %d transactions", len(c.keys), len(listed)))
	}
	return errors.Join(wrong...)
}

// all returns how often each transaction is in the user's list.
func (c *client) all(ctx context.Context) (map[string]int, error) {
	listed := map[string]int{}
	for cursor, failed := "", 0; ; {
		before := c.server.status[http.StatusOK]
		ids, next := c.list(ctx, "/transactions?limit=100", cursor)
		if c.server.status[http.StatusOK] == before {
			if failed++; failed == attempts {
				return nil, errors.New("the list of transactions cannot be read")
			}
			if err := pause(ctx); err != nil {
				return nil, err
			}
			continue
		}
		for _, id := range ids {
			listed[id]++
		}
		if cursor = next; cursor == "" {
			return listed, nil
		}
	}
}

func pause(ctx context.Context) error {
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
