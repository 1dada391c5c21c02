// Package update brings newer releases: it looks at a signed manifest, downloads what that names,
// and hands it to the system's installer when the person says so. Nothing is believed but for a
// signature by one of the keys that were built into this program.
package update

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"aead.dev/minisign"
	"golang.org/x/mod/semver"
)

// What a manifest and its signatures are called, below the feed's address.
const (
	ManifestName   = "release.json"
	SignaturesName = ManifestName + ".minisig"
)

// Product is what a manifest says that it is of: the same key may sign other documents.
const Product = "forevervm-desktop"

// Why a manifest is refused.
var (
	ErrForged   = errors.New("it is not signed by a key that this version of ForeverVM knows")
	ErrExpired  = errors.New("it has expired, so that nobody can say whether there is something newer")
	ErrReplayed = errors.New("it is older than one that was seen here before")
	ErrOlder    = errors.New("its release is older than the version that runs")
	ErrDamaged  = errors.New("it is not what a release's manifest should be")
)

// Manifest says what the newest release is.
type Manifest struct {
	Product   string    `json:"product"`
	Version   string    `json:"version"`
	IssuedAt  time.Time `json:"issued_at"`
	ExpiresAt time.Time `json:"expires_at"` // it is issued again before, be there a release or not
	Notes     string    `json:"notes"`      // what is new, for people: plain text
	Files     []File    `json:"files"`
}

// File is one package of a release.
type File struct {
	Package      string `json:"package"`      // deb, rpm, tarball, msi or dmg
	System       string `json:"system"`       // as Go names it
	Architecture string `json:"architecture"` // as Go names it, or "universal"
	Name         string `json:"name"`         // below the feed's address
	Size         int64  `json:"size"`         // bytes
	SHA256       string `json:"sha256"`       // in hexadecimal
}

// Keys are the public keys that may sign manifests: while keys change there are two.
type Keys []minisign.PublicKey

// ParseKeys reads keys as minisign writes them, parted by commas.
func ParseKeys(text string) (keys Keys, err error) {
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		var key minisign.PublicKey
		if err := key.UnmarshalText([]byte(one)); err != nil {
			return nil, fmt.Errorf("the key %q is none of minisign's: %w", one, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// Signed says whether one of the keys has signed a document. Signatures are minisign's, one after
// the other where several keys signed.
func (keys Keys) Signed(document, signatures []byte) bool {
	const lines = 4 // of one signature
	rest := bytes.FieldsFunc(signatures, func(r rune) bool { return r == '\n' || r == '\r' })
	for len(rest) >= lines {
		one := bytes.Join(rest[:lines], []byte("\n"))
		rest = rest[lines:]
		for _, key := range keys {
			if minisign.Verify(key, document, one) {
				return true
			}
		}
	}
	return false
}

// open returns the manifest that a document holds, if it is signed, has not expired, and is of no
// older version than the one that runs. The error is one of those above.
func (keys Keys) open(document, signatures []byte, running string, now time.Time) (Manifest, error) {
	if !keys.Signed(document, signatures) {
		return Manifest{}, ErrForged
	}
	var m Manifest
	if err := json.Unmarshal(document, &m); err != nil {
		return Manifest{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := m.check(); err != nil {
		return Manifest{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if !now.Before(m.ExpiresAt) {
		return Manifest{}, ErrExpired
	}
	if compare(m.Version, running) < 0 {
		return m, ErrOlder
	}
	return m, nil
}

func (m Manifest) check() error {
	if m.Product != Product {
		return fmt.Errorf("it is of %q", m.Product)
	}
	if !semver.IsValid("v" + m.Version) {
		return fmt.Errorf("%q is no version", m.Version)
	}
	if m.IssuedAt.IsZero() || !m.IssuedAt.Before(m.ExpiresAt) {
		return errors.New("its dates make no sense")
	}
	for _, file := range m.Files {
		digest, err := hex.DecodeString(file.SHA256)
		if err != nil || len(digest) != sha256.Size || file.Size <= 0 {
			return fmt.Errorf("it does not say what %q is", file.Name)
		}
		if file.Name != path.Base(file.Name) || strings.ContainsAny(file.Name, `/\:`) || strings.HasPrefix(file.Name, ".") || strings.HasPrefix(file.Name, "-") {
			return fmt.Errorf("%q is no file's name", file.Name)
		}
	}
	return nil
}

// file returns the one for a kind of package on a system.
func (m Manifest) file(kind, system, architecture string) (File, bool) {
	for _, file := range m.Files {
		if file.Package == kind && file.System == system && (file.Architecture == architecture || file.Architecture == "universal") {
			return file, true
		}
	}
	return File{}, false
}

func compare(a, b string) int { return semver.Compare("v"+a, "v"+b) }
