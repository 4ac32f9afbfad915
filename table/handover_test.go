package table_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// inspected keeps requests, and the signatures that they should have. The fourth one fails, and
// the credentials are of another account then.
type inspected struct {
	creds      aws.Credentials
	requests   []*http.Request
	signatures []string
}

func (w *inspected) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	again := r.Clone(r.Context())
	again.Header.Del("Authorization")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(r.Context(), w.creds, again, hex.EncodeToString(sum[:]), "dynamodb", "eu-west-1", at); err != nil {
		return nil, err
	}
	w.requests, w.signatures = append(w.requests, r.Clone(r.Context())), append(w.signatures, again.Header.Get("Authorization"))
	r.Body = io.NopCloser(bytes.NewReader(body))
	if len(w.requests) == 4 {
		w.creds.AccountID = "210987654321"
		return tabletest.Status(http.StatusInternalServerError, "InternalServerError", "Injected.")(r, nil)
	}
	return succeed(r, nil)
}

// TestHandedOverAttempts shows that the attempts of the SDK's client after one that was sent without
// it are signed, go where the client sends them by then, and have its id.
func TestHandedOverAttempts(t *testing.T) {
	t.Parallel()
	w := &inspected{creds: aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret", SessionToken: "token", AccountID: "123456789012"}}
	client := dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", HTTPClient: w,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return w.creds, nil }),
	})
	var replayed []bool
	tbl, err := table.New(client, schema.Table{Name: "Handover"}, &table.Options{
		Observe: func(_ context.Context, e table.Event) { replayed = append(replayed, e.Replayed) },
	})
	must(t, err)
	for range 4 {
		must(t, tbl.Do(t.Context(), table.Put(keys.Key{PK: "P", SK: "S"}, table.Item{})))
	}
	equal(t, "replayed", replayed, []bool{false, false, true, false})
	equal(t, "requests", len(w.requests), 5)
	var ids, attempts, accounts []string
	for i, r := range w.requests {
		equal(t, "signature", r.Header.Get("Authorization"), w.signatures[i])
		ids = append(ids, r.Header.Get("Amz-Sdk-Invocation-Id"))
		attempts = append(attempts, strings.Split(r.Header.Get("Amz-Sdk-Request"), ";")[0])
		accounts = append(accounts, strings.TrimSuffix(r.URL.String(), ".ddb.eu-west-1.amazonaws.com/"))
	}
	equal(t, "attempts", attempts, []string{"attempt=1", "attempt=1", "attempt=1", "attempt=1", "attempt=2"})
	const account = "https://123456789012"
	equal(t, "accounts", accounts, []string{account, account, account, account, "https://210987654321"})
	if ids[2] == ids[3] || ids[3] != ids[4] {
		t.Errorf("ids %q", ids)
	}
}
