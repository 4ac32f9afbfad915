// Package secretstest is a stub of AWS Secrets Manager for tests.
package secretstest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

// EndpointVariable is the AWS SDK's own variable for the address of Secrets
// Manager.
const EndpointVariable = "AWS_ENDPOINT_URL_SECRETS_MANAGER"

// Store is a server with one secret. It is safe for concurrent use. Close it
// after use.
type Store struct {
	*httptest.Server

	mu    sync.Mutex
	id    string
	text  string
	code  string // of the error to return; empty for none
	reads int
}

// New returns a running store with a secret.
func New(id, text string) *Store {
	s := &Store{id: id, text: text}
	s.Server = httptest.NewServer(s)
	return s
}

// Client returns a client of the store, which repeats nothing.
func (s *Store) Client() *secretsmanager.Client {
	return secretsmanager.New(secretsmanager.Options{
		Region: "eu-west-1", BaseEndpoint: &s.URL, Retryer: aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})
}

// Set changes the secret.
func (s *Store) Set(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
}

// Fail makes every further request fail with an error code of AWS, or none if
// the code is empty.
func (s *Store) Fail(code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.code = code
}

// Reads returns the number of requests.
func (s *Store) Reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// ServeHTTP implements [http.Handler].
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	var in struct {
		SecretID string `json:"SecretId"`
	}
	code := s.code
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Header.Get("X-Amz-Target") != "secretsmanager.GetSecretValue" {
		code = "InvalidRequestException"
	} else if in.SecretID != s.id && code == "" {
		code = "ResourceNotFoundException"
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	out := map[string]string{"ARN": s.id, "SecretString": s.text}
	if code != "" {
		w.WriteHeader(http.StatusBadRequest)
		out = map[string]string{"__type": code}
	}
	_ = json.NewEncoder(w).Encode(out) // a client that has gone gets nothing
}
