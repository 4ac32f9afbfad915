package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
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

// userPool is a Cognito user pool at its own address, which a process reaches by a proxy
// and a certificate of its environment.
type userPool struct {
	id, client string
	host       string
	issuer     *auth.Issuer
}

func newUserPool(t *testing.T, region string) userPool {
	t.Helper()
	return userPool{
		id: region + "_AbCdEfGhI", client: "1example23456789", host: "cognito-idp." + region + ".amazonaws.com",
		issuer: check.Must(auth.NewIssuer(nil))(t),
	}
}

// serve serves the keys of the pool, and returns the variables by which a process gets them.
func (p userPool) serve(t *testing.T) map[string]string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("GET "+p.host+"/"+p.id+"/.well-known/jwks.json", p.issuer)
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

// token returns an access token of the pool for a user, with its claims.
func (p userPool) token(t *testing.T, user string, groups ...string) (string, map[string]any) {
	t.Helper()
	claims := p.issuer.Claims(user, groups...)
	claims["iss"], claims["client_id"] = "https://"+p.host+"/"+p.id, p.client
	return check.Must(p.issuer.Sign(claims))(t), claims
}
