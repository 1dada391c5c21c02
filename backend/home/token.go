package home

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// ErrNoToken says that no local token was made yet: no daemon has ever run here.
var ErrNoToken = errors.New("there is no local token yet; it is made when ForeverVM runs for the first time")

// ReadToken returns the local token, "id.secret".
func (d Dirs) ReadToken() (string, error) {
	data, err := os.ReadFile(d.TokenFile())
	if errors.Is(err, os.ErrNotExist) {
		return "", ErrNoToken
	}
	if err != nil {
		return "", fmt.Errorf("the local token cannot be read: %w", err)
	}
	token := strings.TrimSpace(string(data))
	id, secret, ok := strings.Cut(token, ".")
	if !ok || id == "" || len(secret) < 32 || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("the local token in %s is damaged; delete the file and start ForeverVM again, which makes a new one", d.TokenFile())
	}
	return token, nil
}

// EnsureToken returns the local token, making it first where there is none. Processes that do so at
// once get the same one.
func (d Dirs) EnsureToken(ctx context.Context) (string, error) {
	return d.ensure(ctx, "the local token", d.TokenFile(), ErrNoToken, d.ReadToken, newToken)
}

// ensure reads a secret from its file, making it first where read says that there is none.
func (d Dirs) ensure(ctx context.Context, what, file string, none error, read func() (string, error), fresh func() string) (string, error) {
	if secret, err := read(); !errors.Is(err, none) {
		return secret, errors.Join(err, makePrivate(file))
	}
	if err := d.Make(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	lock := flock.New(file+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return "", fmt.Errorf("%s cannot be made: %w", what, err)
	}
	defer func() { _ = lock.Unlock() }()
	if secret, err := read(); !errors.Is(err, none) {
		return secret, err
	}
	secret := fresh()
	if err := WritePrivate(file, []byte(secret+"\n")); err != nil {
		return "", fmt.Errorf("%s cannot be kept: %w", what, err)
	}
	return secret, nil
}

// newToken makes a token with 256 bits of secret, which no one guesses.
func newToken() string {
	var id [4]byte
	var secret [32]byte
	_, _ = rand.Read(id[:]) // never fails
	_, _ = rand.Read(secret[:])
	return "local-" + hex.EncodeToString(id[:]) + "." + base64.RawURLEncoding.EncodeToString(secret[:])
}
