// Package buckettest is a stub of Amazon S3 for tests.
package buckettest

import (
	"context"
	"encoding/xml"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// EndpointVariable is the AWS SDK's own variable for the address of S3.
const EndpointVariable = "AWS_ENDPOINT_URL_S3"

// Server is a server with one bucket. It is safe for concurrent use.
type Server struct {
	*httptest.Server
	// Bucket is the name of the bucket.
	Bucket string

	mu      sync.Mutex
	objects map[string]object
	used    map[string]bool
	age     time.Duration
}

type object struct {
	data     []byte
	checksum http.Header
	at       time.Time
}

// New returns a running server, which ends with the test.
func New(t *testing.T, bucket string) *Server {
	t.Helper()
	s := &Server{Bucket: bucket, objects: map[string]object{}, used: map[string]bool{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// Client returns a client of the server, which repeats nothing.
func (s *Server) Client() *s3.Client {
	return s3.New(s3.Options{
		Region: "eu-west-1", BaseEndpoint: &s.URL, Retryer: aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})
}

// Names returns the names of the objects.
func (s *Server) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

// Age makes all objects older.
func (s *Server) Age(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.age += by
}

// Used returns the permissions that the requests have needed.
func (s *Server) Used() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.used))
}

// Forget forgets the requests, for Used.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.used)
}

// page is how many objects a page of a list has.
const page = 2

// ServeHTTP implements [http.Handler].
// AWS: PutObject, GetObject, DeleteObject and ListObjectsV2, Amazon S3 API Reference.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, ours := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/"), "/"+s.Bucket)
	name = strings.TrimPrefix(name, "/")
	switch {
	case !ours || r.Header.Get("Authorization") == "":
		fail(w, http.StatusForbidden, "AccessDenied")
	case name == "" && r.Method == http.MethodGet:
		s.used["s3:ListBucket"] = true
		s.list(w, r.URL.Query().Get("continuation-token"))
	case name != "" && r.Method == http.MethodPut:
		s.used["s3:PutObject"] = true
		data, err := io.ReadAll(r.Body)
		if err != nil || len(name) > 255 {
			fail(w, http.StatusBadRequest, "InvalidRequest")
			return
		}
		o := object{data: data, checksum: http.Header{}, at: time.Now()}
		for header, values := range r.Header {
			if strings.HasPrefix(header, "X-Amz-Checksum-") {
				o.checksum[header] = values
			}
		}
		s.objects[name] = o
	case name != "" && r.Method == http.MethodGet:
		s.used["s3:GetObject"] = true
		o, there := s.objects[name]
		if !there {
			s.used["s3:ListBucket"] = true // without it, AccessDenied
			fail(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		maps.Copy(w.Header(), o.checksum)
		_, _ = w.Write(o.data)
	case name != "" && r.Method == http.MethodDelete:
		s.used["s3:DeleteObject"] = true
		delete(s.objects, name)
		w.WriteHeader(http.StatusNoContent)
	default:
		fail(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
	}
}

// list lists the objects after one.
func (s *Server) list(w http.ResponseWriter, after string) {
	type content struct {
		Key          string
		LastModified time.Time
	}
	var out struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []content
	}
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		if name <= after {
			continue
		}
		if len(out.Contents) == page {
			out.IsTruncated, out.NextContinuationToken = true, out.Contents[page-1].Key
			break
		}
		out.Contents = append(out.Contents, content{name, s.objects[name].at.Add(-s.age)})
	}
	_ = xml.NewEncoder(w).Encode(out) // a client that has gone gets nothing
}

func fail(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
	}{Code: code})
}
