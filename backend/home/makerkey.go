package home

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
)

// MakerSeedSize is how many bytes the seed of the maker's key has.
const MakerSeedSize = 32

// ErrNoMakerKey says that nothing was ever signed here.
var ErrNoMakerKey = errors.New("there is no maker's key yet; it is made when a machine is first saved as a file")

// ReadMakerSeed returns the seed of the key with which machines are signed that are saved as files.
func (d Dirs) ReadMakerSeed() ([]byte, error) {
	text, err := d.readMakerSeed()
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(text)
}

// EnsureMakerSeed is ReadMakerSeed that makes the key first where there is none.
func (d Dirs) EnsureMakerSeed(ctx context.Context) ([]byte, error) {
	text, err := d.ensure(ctx, "the maker's key", d.MakerKeyFile(), ErrNoMakerKey, d.readMakerSeed, newMakerSeed)
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(text)
}

func (d Dirs) readMakerSeed() (string, error) {
	data, err := os.ReadFile(d.MakerKeyFile())
	if errors.Is(err, os.ErrNotExist) {
		return "", ErrNoMakerKey
	}
	if err != nil {
		return "", fmt.Errorf("the maker's key cannot be read: %w", err)
	}
	text := strings.TrimSpace(string(data))
	if seed, err := hex.DecodeString(text); err != nil || len(seed) != MakerSeedSize {
		return "", fmt.Errorf("the maker's key in %s is damaged; put it back from a backup, or delete the file: "+
			"a new one is then made, which those who have accepted yours do not know", d.MakerKeyFile())
	}
	return text, nil
}

func newMakerSeed() string {
	var seed [MakerSeedSize]byte
	_, _ = rand.Read(seed[:]) // never fails
	return hex.EncodeToString(seed[:])
}
