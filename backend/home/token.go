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

// ErrNoToken says that no token was made yet: no daemon has ever run here.
var ErrNoToken = errors.New("there is no token yet; it is made when ForeverVM runs for the first time")

// ReadOwnerToken returns the token of the window and the command line, "id.secret". It opens
// everything, and each program that has it checks with it that the daemon answers.
func (d Dirs) ReadOwnerToken() (string, error) { return readToken(d.OwnerTokenFile()) }

// EnsureOwnerToken returns the same, making it first where there is none. Processes that do so at
// once get the same one.
func (d Dirs) EnsureOwnerToken(ctx context.Context) (string, error) {
	return d.ensure(ctx, "the owner's token", d.OwnerTokenFile(), ErrNoToken, d.ReadOwnerToken, func() string { return newToken("owner") })
}

// EnsureToken returns the token of SDKs and programs, as EnsureOwnerToken does.
func (d Dirs) EnsureToken(ctx context.Context) (string, error) {
	return d.ensure(ctx, "the local token", d.TokenFile(), ErrNoToken,
		func() (string, error) { return readToken(d.TokenFile()) }, func() string { return newToken("local") })
}

func readToken(file string) (string, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return "", ErrNoToken
	}
	if err != nil {
		return "", fmt.Errorf("the token cannot be read: %w", err)
	}
	token := strings.TrimSpace(string(data))
	id, secret, ok := strings.Cut(token, ".")
	if !ok || id == "" || len(secret) < 32 || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("the token in %s is damaged; delete the file and start ForeverVM again, which makes a new one", file)
	}
	return token, nil
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
func newToken(kind string) string {
	var id [4]byte
	var secret [32]byte
	_, _ = rand.Read(id[:]) // never fails
	_, _ = rand.Read(secret[:])
	return kind + "-" + hex.EncodeToString(id[:]) + "." + base64.RawURLEncoding.EncodeToString(secret[:])
}
