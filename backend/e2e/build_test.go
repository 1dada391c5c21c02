//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fakes is a folder of programs that only print something.
func fakes(t *testing.T, programs map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, says := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+says+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Where Go or Node is too old, as Debian 12's own are, that is what is said, before anything else
// is tried.
func TestDepsWantNewGoAndNode(t *testing.T) {
	module, err := os.ReadFile(filepath.Join(repo(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	wanted := regexp.MustCompile(`(?m)^go (.*)$`).FindStringSubmatch(string(module))[1]
	const newGo, newNode = "echo go version go1.30.0 linux/amd64", "echo v24.1.0"
	for name, c := range map[string]struct{ goSays, nodeSays, missing string }{
		"Debian 12":            {"echo go version go1.19.8 linux/amd64", "echo v18.19.0", "missing: Go GO (found: 1.19.8) Node 20.19 (found: 18.19.0)."},
		"old Go":               {"echo go version go1.22.2 linux/amd64", newNode, "missing: Go GO (found: 1.22.2)."},
		"old Node":             {newGo, "echo v20.9.0", "missing: Node 20.19 (found: 20.9.0)."},
		"Go that cannot fetch": {"echo download failed >&2; exit 1", newNode, "missing: Go GO (found: none)."},
	} {
		t.Run(name, func(t *testing.T) {
			path := fakes(t, map[string]string{"go": c.goSays, "node": c.nodeSays, "apt-get": "echo too late; exit 9"})
			cmd := exec.Command(filepath.Join(repo(t), "build", "deps.sh"), "test")
			cmd.Env = append(os.Environ(), "PATH="+path+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			want := strings.Replace(c.missing, "GO", wanted, 1) + " Install Go 1.21 or newer (https://go.dev/doc/install; it fetches the version it needs) and Node 20.19 or newer with npm (https://nodejs.org).\n"
			if err == nil || !strings.HasSuffix(string(out), want) || strings.Contains(string(out), "too late") {
				t.Errorf("%v\n%swant\n%s", err, out, want)
			}
		})
	}
}

// Tests of the page use the browser that is named, else the first that is there, but no snap.
func TestBrowserIsFound(t *testing.T) {
	snap := fakes(t, map[string]string{"chromium-browser": "exec /snap/bin/chromium"})
	chrome := fakes(t, map[string]string{"google-chrome": "true"})
	downloaded := filepath.Join(t.TempDir(), "chromium-1", "chrome-linux64")
	if err := os.MkdirAll(downloaded, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(downloaded, "chrome"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	tools := fakes(t, map[string]string{"grep": `exec /usr/bin/grep "$@"`, "head": `exec /usr/bin/head "$@"`, "readlink": `exec /usr/bin/readlink "$@"`, "tr": `exec /usr/bin/tr "$@"`})
	for name, c := range map[string]struct{ env, want string }{
		"named":            {"CHROMIUM=/some/where", "/some/where"},
		"found":            {"PATH=" + snap + ":" + chrome + ":" + tools, filepath.Join(chrome, "google-chrome")},
		"Playwright's own": {"PATH=" + snap + ":" + tools, filepath.Join(downloaded, "chrome")},
	} {
		cmd := exec.Command("/bin/bash", filepath.Join(repo(t), "build", "browser.sh"))
		cmd.Env = append(os.Environ(), "CHROMIUM=", "PLAYWRIGHT_BROWSERS_PATH="+filepath.Dir(filepath.Dir(downloaded)), c.env)
		if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != c.want {
			t.Errorf("%s: %q, %v; want %s", name, out, err, c.want)
		}
	}
	cmd := exec.Command("/bin/bash", filepath.Join(repo(t), "build", "browser.sh"))
	cmd.Env = append(os.Environ(), "CHROMIUM=", "PLAYWRIGHT_BROWSERS_PATH=/nonexistent", "PATH="+snap+":"+tools)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "npx playwright install") {
		t.Errorf("none: %s, %v", out, err)
	}
}
