package daemon

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificate is what the daemon shows to people of a team, from two PEM files. They are read again
// when one has changed: Kubernetes and cert-manager replace them while the daemon runs.
type certificate struct {
	files [2]string // the certificate with those that vouch for it, and its key
	log   *slog.Logger

	mu   sync.Mutex
	read [2]os.FileInfo // as the files were when they were last read
	now  *tls.Certificate
	told string // what was wrong last: anybody can make it happen again
}

// openCertificate reads the files for the first time.
func openCertificate(file, key string, log *slog.Logger) (*certificate, error) {
	c := &certificate{files: [2]string{file, key}, log: log}
	if err := c.refresh(); err != nil {
		return nil, fmt.Errorf("the certificate for --tls-cert and --tls-key cannot be used, so ForeverVM does not listen; give a PEM file of each: %w", err)
	}
	return c, nil
}

// config is for connections of people. They speak HTTP 1.1, as WebSockets need it.
func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: c.get}
}

// get returns the present certificate. While the files do not fit together, it is the one before:
// they are replaced one after the other.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refresh(); err != nil && err.Error() != c.told {
		c.told = err.Error()
		c.log.Warn("the new certificate cannot be used; the one before goes on", "err", err)
	}
	return c.now, nil
}

// refresh reads the files if one is another than before.
func (c *certificate) refresh() error {
	var found [2]os.FileInfo
	same := true
	for i, file := range c.files {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		found[i] = info
		was := c.read[i]
		same = same && was != nil && os.SameFile(was, info) && was.Size() == info.Size() && was.ModTime().Equal(info.ModTime())
	}
	if same {
		return nil
	}
	c.read = found // before the files are: what changes meanwhile is seen the next time
	pair, err := tls.LoadX509KeyPair(c.files[0], c.files[1])
	if err != nil {
		return err
	}
	if ends := pair.Leaf.NotAfter; time.Now().After(ends) {
		c.log.Warn("the certificate has expired, so programs refuse it", "ended", ends)
	}
	c.now = &pair
	return nil
}
