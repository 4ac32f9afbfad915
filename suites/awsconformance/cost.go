package awsconformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// The prices of on-demand capacity in us-east-1, standard table class, in US
// dollars for a million request units.
const (
	writePrice  = 0.625
	readPrice   = 0.125
	pricesAsOf  = "November 2024"
	pricingPage = "https://aws.amazon.com/dynamodb/pricing/on-demand/"
)

// Meter counts the capacity that the requests of clients consume on a local
// engine. The zero value is ready to use. It is safe for concurrent use.
type Meter struct {
	mu     sync.Mutex
	tables int
	reads  float64
	writes float64
}

// Install puts the meter into a client. It comes before other options that
// intercept requests, so that these do not see what it adds.
func (m *Meter) Install(o *dynamodb.Options) {
	inner := o.HTTPClient
	o.HTTPClient = doer(func(r *http.Request) (*http.Response, error) {
		if inner == nil {
			return m.do(http.DefaultClient, r)
		}
		return m.do(inner, r)
	})
}

type doer func(*http.Request) (*http.Response, error)

// Do calls d.
func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// do has the engine say what a request consumed, and adds it up.
func (m *Meter) do(inner dynamodb.HTTPClient, r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if operation == "CreateTable" {
		m.mu.Lock()
		m.tables++
		m.mu.Unlock()
	}
	if !strings.Contains(operation, "Item") && operation != "Query" && operation != "Scan" {
		return inner.Do(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&fields) == nil {
		fields["ReturnConsumedCapacity"] = "TOTAL"
		if with, err := json.Marshal(fields); err == nil {
			body = with
		}
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp, err := inner.Do(r)
	if err != nil {
		return nil, err
	}
	response, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(response))
	if err == nil {
		m.add(operation, response)
	}
	return resp, err
}

// add takes the consumed capacity from a response.
func (m *Meter) add(operation string, response []byte) {
	type consumed struct{ CapacityUnits float64 }
	var one struct{ ConsumedCapacity consumed }
	var many struct{ ConsumedCapacity []consumed }
	units := 0.0
	if json.Unmarshal(response, &one) == nil {
		units = one.ConsumedCapacity.CapacityUnits
	} else if json.Unmarshal(response, &many) == nil {
		for _, c := range many.ConsumedCapacity {
			units += c.CapacityUnits
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch operation {
	case "GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan":
		m.reads += units
	default:
		m.writes += units
	}
}

// Cost returns the cost of what was consumed so far, in US dollars.
func (m *Meter) Cost() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return (m.writes*writePrice + m.reads*readPrice) / 1e6
}

// String says what was consumed and what that costs.
func (m *Meter) String() string {
	cost := m.Cost()
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprintf(`Estimate for one run of the conformance suite on AWS, from a run on the local engine just now:
  %d tables, on-demand, deleted at the end; making and keeping them for minutes costs nothing worth mention
  %.0f write request units at $%.3f a million, %.0f read request units at $%.3f a million
  about $%.3f, and up to twice that, since reads are repeated until they show what was written
  Prices: us-east-1, as of %s, %s
  They differ by region and change: look them up.`,
		m.tables, m.writes, writePrice, m.reads, readPrice, cost, pricesAsOf, pricingPage)
}
