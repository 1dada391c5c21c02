package egress

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"sync"
	"time"
)

const (
	// leafFor is how long a host's certificate is good. After half of that the next one is made.
	leafFor   = 48 * time.Hour
	maxLeaves = 1000
)

// The authority's certificate never changes. So a machine that has slept for a year trusts it, and
// its bundle of authorities stays as it is.
var (
	authorityFrom = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	authorityTill = time.Date(2049, 12, 31, 0, 0, 0, 0, time.UTC)
)

// authority speaks for the hosts to which machines send secrets. Machines alone trust it, and none
// of them has its key: so all have the same, and what runs in a copy of a machine goes on.
type authority struct {
	pem  []byte // its certificate
	cert *x509.Certificate
	key  ed25519.PrivateKey

	mu     sync.Mutex
	leaves map[string]leaf // by host
}

type leaf struct {
	cert *tls.Certificate
	made time.Time
}

// newAuthority makes it from a seed of 32 bytes, which never leaves the keyring and this process.
func newAuthority(seed []byte) (*authority, error) {
	key := ed25519.NewKeyFromSeed(seed)
	public := key.Public()
	serial := sha256.Sum256(public.(ed25519.PublicKey))
	template := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial[:8]),
		Subject:      pkix.Name{CommonName: "ForeverVM, for secrets of machines alone"},
		NotBefore:    authorityFrom, NotAfter: authorityTill,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), cert: cert, key: key, leaves: map[string]leaf{}}, nil
}

// certificate is one for a host.
func (a *authority) certificate(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if kept, ok := a.leaves[host]; ok && now.Sub(kept.made) < leafFor/2 {
		return kept.cert, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: host[:min(len(host), 64)]}, DNSNames: []string{host},
		NotBefore: now.Add(-leafFor / 2), NotAfter: now.Add(leafFor),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	if len(a.leaves) >= maxLeaves {
		clear(a.leaves)
	}
	cert := &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: key}
	a.leaves[host] = leaf{cert, now}
	return cert, nil
}
