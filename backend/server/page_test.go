package server

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
)

func TestPage(t *testing.T) {
	index := `<!doctype html><html><head><meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; script-src 'sha256-x='"></head></html>`
	base := start(t, Config{Machines: closed{}, Token: testToken, Page: fstest.MapFS{
		"index.html":         {Data: []byte(index)},
		"icon.svg":           {Data: []byte("<svg/>")},
		"assets/main-abc.js": {Data: []byte("1")},
	}})
	for _, test := range []struct {
		method, path, accept string
		want                 int
		body, cache          string
	}{
		{"GET", "/", "text/html", 200, index, "no-cache"},
		{"GET", "/index.html", "", 200, index, "no-cache"},
		{"GET", "/machines/brave-otter-42", "text/html,*/*", 200, index, "no-cache"},
		{"GET", "/machines/brave-otter-42", "*/*", 404, "", ""},
		{"GET", "/icon.svg", "", 200, "<svg/>", "no-cache"},
		{"GET", "/assets/main-abc.js", "", 200, "1", "public, max-age=31536000, immutable"},
		{"GET", "/assets/gone.js", "text/html", 404, "", ""},
		{"GET", "/assets/", "", 404, "", ""},
		{"GET", "/..%2fserver.go", "", 404, "", ""},
		{"GET", "/.well-known/oauth-authorization-server", "text/html", 404, "", ""},
		{"POST", "/", "", 404, "", ""},
		{"HEAD", "/", "text/html", 200, "", "no-cache"},
	} {
		resp, body := request(t, base, test.method, test.path, func(r *http.Request) { r.Header.Set("Accept", test.accept) })
		if resp.StatusCode != test.want || test.body != "" && body != test.body {
			t.Errorf("%s %s: %d %q", test.method, test.path, resp.StatusCode, body)
			continue
		}
		if test.want != 200 {
			continue
		}
		if got := resp.Header.Get("Cache-Control"); got != test.cache {
			t.Errorf("%s: Cache-Control %q", test.path, got)
		}
		policy := resp.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; script-src 'sha256-x='") || !strings.HasSuffix(policy, "; frame-ancestors 'none'") {
			t.Errorf("%s: policy %q", test.path, policy)
		}
		if resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: headers %v", test.path, resp.Header)
		}
	}
}

func TestABuildWithoutPageSaysSo(t *testing.T) {
	base := start(t, Config{Machines: closed{}, Token: testToken, Page: fstest.MapFS{".gitkeep": {}}})
	resp, body := request(t, base, "GET", "/", nil)
	if resp.StatusCode != 404 || errorCode(t, body) != "NoPage" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
