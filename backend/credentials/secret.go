package credentials

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Secret is a token of the hosted service. However it is printed (fmt, slog, JSON, a test's
// failure), it shows as Mask says: only Reveal gives it away. The zero value holds none.
type Secret struct {
	// A function, as fmt prints the unexported fields of whatever holds a Secret without asking
	// their methods: of a function it prints the address.
	reveal func() string
}

// maxToken is the longest token that is taken: Windows keeps 2,560 bytes.
const maxToken = 2048

// Parse takes a token as people type or paste it: "id.secret". The error is a sentence for them,
// without the token.
func Parse(text string) (Secret, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Secret{}, errors.New("no token was given")
	}
	id, rest, ok := strings.Cut(text, ".")
	if !ok || id == "" || rest == "" {
		return Secret{}, errors.New("this is not a ForeverVM token: those are two parts with a dot between them; copy it again, as a whole")
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) || len(text) > maxToken {
		return Secret{}, errors.New("this is not a ForeverVM token: it holds characters that no token has, or too many; copy it again")
	}
	return Secret{func() string { return text }}, nil
}

// Reveal is the token itself. It is for the request that carries it and for the keyring, and for
// nothing else.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// Empty says whether there is no token.
func (s Secret) Empty() bool { return s.reveal == nil }

// Equal compares in a time that tells nothing about either.
func (s Secret) Equal(text string) bool {
	x, y := sha256.Sum256([]byte(s.Reveal())), sha256.Sum256([]byte(text))
	return !s.Empty() && subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// Mask tells tokens apart without giving them away: "fvm_…" and the last four characters, where
// there are enough others.
func (s Secret) Mask() string {
	const shown, enough = 4, 20
	text := s.Reveal()
	switch {
	case text == "":
		return ""
	case len(text) < enough:
		return "fvm_…"
	}
	return "fvm_…" + text[len(text)-shown:]
}

// String returns the mask.
func (s Secret) String() string { return s.Mask() }

// GoString returns the mask.
func (s Secret) GoString() string { return s.Mask() }

// Format writes the mask, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.Mask()) }

// LogValue is the mask.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.Mask()) }

// MarshalText writes the mask, as JSON, XML and others take it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.Mask()), nil }
