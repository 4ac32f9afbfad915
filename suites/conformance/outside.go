package conformance

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// outside sends requests from goroutines outside of the synctest bubble that the
// caller is in: the clock of the bubble stands until the response is there, and
// goes on when requests are held.
type outside struct{ workers chan *sender }

type sender struct {
	request  chan *http.Request
	response chan *http.Response
	err      error
}

// install must be called outside of the bubble.
func (x *outside) install(t *testing.T) func(*dynamodb.Options) {
	const most = 16
	x.workers = make(chan *sender, most)
	return func(o *dynamodb.Options) {
		next := o.HTTPClient
		o.HTTPClient = x
		for range most {
			s := &sender{request: make(chan *http.Request), response: make(chan *http.Response)}
			x.workers <- s
			go func() {
				for r := range s.request {
					var response *http.Response
					response, s.err = next.Do(r)
					if s.err == nil {
						var body []byte
						body, s.err = io.ReadAll(response.Body)
						response.Body.Close()
						response.Body = io.NopCloser(bytes.NewReader(body))
					}
					s.response <- response
				}
			}()
			t.Cleanup(func() { close(s.request) })
		}
	}
}

// Do sends a request, which does not end with its context.
func (x *outside) Do(r *http.Request) (*http.Response, error) {
	s := <-x.workers
	defer func() { x.workers <- s }()
	s.request <- r.WithContext(context.Background())
	response := <-s.response
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return response, s.err
}
