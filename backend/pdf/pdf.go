// Package pdf prints a page as a PDF, with the browser that is on the computer: Chrome, Edge, Brave
// or Chromium. The browser runs without a window, with an empty profile, and reaches no network.
package pdf

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ErrNoBrowser says that none of the browsers is there that can print by themselves.
var ErrNoBrowser = errors.New("no Chrome, Edge, Brave or Chromium was found")

const (
	// patience is how long a browser may take.
	patience = 3 * time.Minute
	// drawing is how long figures may take to be drawn, in milliseconds of the page's own clock.
	drawing = 20_000
)

// one browser prints at a time, because each takes much memory.
var one = make(chan struct{}, 1)

// Print prints a page, and returns the path of the PDF, which is in the same folder. The folder
// must be the caller's alone: the browser's profile is there while it runs. Errors are
// ErrNoBrowser, the context's, or say what the browser said.
func Print(ctx context.Context, page string) (string, error) {
	browser := find()
	if browser == "" {
		return "", ErrNoBrowser
	}
	select {
	case one <- struct{}{}:
		defer func() { <-one }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	folder := filepath.Dir(page)
	profile, made := filepath.Join(folder, "browser"), strings.TrimSuffix(page, filepath.Ext(page))+".pdf"
	defer os.RemoveAll(profile)
	args := []string{
		"--headless", "--disable-gpu", "--no-first-run", "--no-default-browser-check", "--disable-extensions", "--disable-sync",
		"--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND",
		"--user-data-dir=" + profile, "--no-pdf-header-footer", fmt.Sprintf("--virtual-time-budget=%d", drawing), "--print-to-pdf=" + made,
	}
	if os.Getuid() == 0 {
		args = append(args, "--no-sandbox") // Chromium has none for root
	}
	cmd := exec.CommandContext(ctx, browser, append(args, address(page))...)
	alone(cmd)
	cmd.WaitDelay = 5 * time.Second
	said, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(browser), err, said[max(0, len(said)-1000):])
	}
	if info, err := os.Stat(made); err != nil || info.Size() == 0 {
		return "", fmt.Errorf("%s made no PDF: %s", filepath.Base(browser), said[max(0, len(said)-1000):])
	}
	return made, nil
}

// address is a file's.
func address(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/...
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// find returns the first browser that is there; "" for none. One in a snap is none: it sees neither
// the page nor the folder.
func find() string {
	for _, name := range browsers() {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil && !strings.Contains(real, "/snap/") && !callsSnap(real) {
			return path
		}
	}
	return ""
}

// callsSnap says whether a program is a script that starts the one in a snap, as Ubuntu's Chromium
// is.
func callsSnap(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 4096)
	n, _ := file.Read(head) // none is as good as an empty one
	return strings.HasPrefix(string(head[:n]), "#!") && strings.Contains(string(head[:n]), "/snap/")
}
