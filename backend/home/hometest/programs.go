package hometest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// began is where the tests of a package start: in its folder.
var began, _ = os.Getwd()

// Programs is the folder of what `make build` has built: $FOREVERVM_BIN, or else build/bin of the
// checkout. Each of the names, with slashes, is a file there.
func Programs(names ...string) (string, error) {
	bin, err := folder()
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(bin, filepath.FromSlash(name))); err != nil {
			return "", fmt.Errorf("%w: run `make build` first, or set FOREVERVM_BIN", err)
		}
	}
	return bin, nil
}

// Bin is Programs for a test, which fails where one is missing.
func Bin(t testing.TB, names ...string) string {
	t.Helper()
	bin, err := Programs(names...)
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

func folder() (string, error) {
	if bin := os.Getenv("FOREVERVM_BIN"); bin != "" {
		return filepath.Abs(bin)
	}
	for dir := began; ; {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "build", "bin"), nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("this is no checkout: set FOREVERVM_BIN")
		}
		dir = up
	}
}
