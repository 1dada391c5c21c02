//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadSums(t *testing.T) {
	file, sum := filepath.Join(t.TempDir(), "sums"), strings.Repeat("0a", 32)
	if known, err := readSums("", "/parts"); err != nil || known != nil {
		t.Errorf("without a file: %v, %v", known, err)
	}
	if _, err := readSums(file, "/parts"); err == nil {
		t.Error("a file that is not there is taken")
	}
	for content, want := range map[string]string{
		sum + "  image/base.erofs\n": "/parts/image/base.erofs",
		sum + "  ../base.erofs\n":    "", sum + " runsc\n": "", "0a  runsc\n": "", "nonsense\n": "",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		known, err := readSums(file, "/parts")
		if (err == nil) != (want != "") || err == nil && known[want] != sum {
			t.Errorf("%q is read as %v, %v", content, known, err)
		}
	}
}
