// Package pooltest is an Amazon Cognito user pool for tests of processes, which reach it at
// its own address.
package pooltest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/check"
)

// Pool is a user pool, which a process reaches by a proxy and a certificate of its
// environment.
type Pool struct {
	ID, ClientID string
	host         string
	issuer       *auth.Issuer
}

// New returns a user pool of a region.
func New(t *testing.T, region string) Pool {
	t.Helper()
	return Pool{
		ID: region + "_AbCdEfGhI", ClientID: "1example23456789", host: "cognito-idp." + region + ".amazonaws.com",
		issuer: check.Must(auth.NewIssuer(nil))(t),
	}
}

// Serve serves the keys of the pool, and returns the variables by which a process gets them.
func (p Pool) Serve(t *testing.T) map[string]string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("GET "+p.host+"/"+p.ID+"/.well-known/jwks.json", p.issuer)
	keys := httptest.NewUnstartedServer(mux)
	certificate := newCertificate(t, p.host)
	keys.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	keys.StartTLS()
	t.Cleanup(keys.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != p.host+":443" {
			http.Error(w, "there is nothing else to reach", http.StatusForbidden)
			return
		}
		there, err := net.Dial("tcp", keys.Listener.Addr().String())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer there.Close()
		here, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer here.Close()
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(there, buffered) }()
		_, _ = io.Copy(here, there) // until the server has closed it
	}))
	t.Cleanup(proxy.Close)
	file := filepath.Join(t.TempDir(), "certificate.pem")
	check.OK(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}), 0o600))
	return map[string]string{"HTTPS_PROXY": proxy.URL, "SSL_CERT_FILE": file}
}

// newCertificate returns a certificate of a host, which it has signed itself.
func newCertificate(t *testing.T, host string) tls.Certificate {
	t.Helper()
	key := check.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	return tls.Certificate{
		Certificate: [][]byte{check.Must(x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key))(t)}, PrivateKey: key,
	}
}

// Token returns an access token of the pool for a user, with further claims, and all of its
// claims.
func (p Pool) Token(t *testing.T, user string, more map[string]any) (string, map[string]any) {
	t.Helper()
	claims := p.issuer.Claims(user)
	claims["iss"], claims["client_id"] = "https://"+p.host+"/"+p.ID, p.ClientID
	maps.Copy(claims, more)
	return check.Must(p.issuer.Sign(claims))(t), claims
}
