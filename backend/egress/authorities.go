package egress

import (
	"bytes"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"sync"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/forevervm/desktop/backend/machine"
)

// Where code in a machine finds the relay, which is on the machine's own loopback.
const (
	relayHTTP  = "http://127.0.0.1:3128"
	relaySOCKS = "socks5h://127.0.0.1:3128"
	// authoritiesPath is the bundle of certificate authorities in a machine, which all programs
	// there know.
	authoritiesPath = "/etc/ssl/certs/ca-certificates.crt"
	// pipPatience is how many seconds pip waits for an answer: longer than a person has for theirs.
	pipPatience = "150"
)

// maxAuthorities bounds the authorities that are given to a machine, in bytes.
const maxAuthorities = 2 << 20

// bundles are where systems keep the authorities that they trust, in one file.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt",                // Debian, Arch
	"/etc/pki/tls/certs/ca-bundle.crt",                  // Fedora
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // Red Hat
	"/etc/ssl/ca-bundle.pem",                            // SUSE
	"/etc/ssl/cert.pem",                                 // Alpine, macOS
}

// named are the variables in which people say what their programs shall trust.
var named = []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT"}

// Belongings are what a machine needs in order to use the network: where the relay is, and whom
// this computer trusts; of its secrets, placeholders. Without authorities it keeps those of its
// image.
func (p *Proxy) Belongings(id machine.ID, owner string) (env map[string]string, authorities []byte) {
	const here = "localhost,127.0.0.1,::1"
	env = map[string]string{}
	for name, value := range map[string]string{
		"HTTP_PROXY": relayHTTP, "HTTPS_PROXY": relayHTTP, "ALL_PROXY": relaySOCKS, "NO_PROXY": here,
		"http_proxy": relayHTTP, "https_proxy": relayHTTP, "all_proxy": relaySOCKS, "no_proxy": here,
	} {
		env[name] = value
	}
	for _, name := range named {
		env[name] = authoritiesPath
	}
	if p.packages != nil {
		env["PIP_INDEX_URL"] = relayIndex
	}
	env["PIP_DEFAULT_TIMEOUT"] = pipPatience
	authorities = p.authorities()
	if p.vault != nil {
		if own := p.vault.belongings(id, owner, env); own != nil {
			if len(authorities) == 0 { // else the machine would trust no other
				authorities = mozillas()
			}
			authorities = append(slices.Clip(authorities), own...)
		}
	}
	return env, authorities
}

// authoritiesFor is how long the authorities of this computer are believed to be the same.
const authoritiesFor = time.Minute

func (p *Proxy) authorities() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.trusted == nil || time.Since(p.trustedAt) > authoritiesFor {
		p.trusted, p.trustedAt = p.readAuthorities(), time.Now()
	}
	return p.trusted
}

// readAuthorities returns the certificates that this computer trusts, each once. They come from its
// files; where a system has none, from those that people name in the usual variables.
func (p *Proxy) readAuthorities() []byte {
	var files []string
	for _, name := range named {
		if file := p.config.Getenv(name); file != "" {
			files = append(files, file)
		}
	}
	for _, file := range bundles {
		if _, err := os.Stat(file); err == nil {
			files = append(files, file)
			break
		}
	}
	for _, dir := range filepath.SplitList(p.config.Getenv("SSL_CERT_DIR")) {
		found, _ := filepath.Glob(filepath.Join(dir, "*.pem"))
		sort.Strings(found)
		files = append(files, found...)
	}
	var out bytes.Buffer
	seen := map[string]bool{}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || info.Size() > maxAuthorities {
			continue
		}
		rest, err := os.ReadFile(file)
		if err != nil {
			p.log.Warn("certificate authorities cannot be read", "file", file, "err", err)
			continue
		}
		for {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			if block.Type != "CERTIFICATE" || seen[string(block.Bytes)] || out.Len()+2*len(block.Bytes) > maxAuthorities {
				continue
			}
			seen[string(block.Bytes)] = true
			_ = pem.Encode(&out, &pem.Block{Type: block.Type, Bytes: block.Bytes}) // to memory
		}
	}
	return out.Bytes()
}

// mozillas are the certificates that Mozilla trusts.
var mozillas = sync.OnceValue(func() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // to memory
	}
	return out.Bytes()
})
