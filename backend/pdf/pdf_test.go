//go:build real

package pdf

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAPageIsPrinted(t *testing.T) {
	folder := t.TempDir()
	page := filepath.Join(folder, "a page ü#1.html")
	// The second page is there only once the script has run.
	if err := os.WriteFile(page, []byte(`<h1>Sales</h1><script>setTimeout(() => document.body.innerHTML += '<p style="break-before: page">later', 500)</script>`), 0o600); err != nil {
		t.Fatal(err)
	}
	made, err := Print(t.Context(), page)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(made)
	if err != nil || !bytes.HasPrefix(data, []byte("%PDF-")) || !bytes.Contains(data, []byte("/Count 2")) {
		t.Errorf("%v: %d bytes", err, len(data))
	}
	if left, err := filepath.Glob(filepath.Join(folder, "*")); err != nil || len(left) != 2 {
		t.Errorf("%v: %v is left", err, left)
	}
}

func TestWithoutABrowser(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Print(t.Context(), filepath.Join(t.TempDir(), "page.html")); !errors.Is(err, ErrNoBrowser) {
		t.Error(err)
	}
}

// A browser that hangs ends with the request, and keeps no other from printing.
func TestABrowserThatHangs(t *testing.T) {
	programs := t.TempDir()
	if err := os.WriteFile(filepath.Join(programs, "google-chrome"), []byte("#!/bin/sh\nsleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if _, err := Print(ctx, filepath.Join(t.TempDir(), "page.html")); err == nil {
			t.Error("it has printed")
		}
		cancel()
	}
}

func TestASnapIsNoBrowser(t *testing.T) {
	programs := t.TempDir()
	if err := os.WriteFile(filepath.Join(programs, "chromium"), []byte("#!/bin/sh\nexec /snap/bin/chromium \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs)
	if found := find(); found != "" {
		t.Error(found)
	}
}
