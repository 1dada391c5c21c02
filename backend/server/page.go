package server

import (
	"html"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
)

// defaultPolicy is for a page that states none of its own.
const defaultPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'"

// policyTag is how the page's build states its policy, which names the digests of its scripts.
var policyTag = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)"`)

// page serves the built page.
type page struct {
	files  fs.FS
	serveF http.Handler
	policy string // Content-Security-Policy, as a header: it also holds for what a tag in the page cannot say
}

func newPage(files fs.FS) *page {
	policy := defaultPolicy
	if index, err := fs.ReadFile(files, "index.html"); err == nil {
		if found := policyTag.FindSubmatch(index); found != nil {
			policy = html.UnescapeString(string(found[1]))
		}
	}
	return &page{files: files, serveF: http.FileServerFS(files), policy: policy + "; frame-ancestors 'none'"}
}

// serve sends a file of the page; any other address that a browser opens shows the page itself,
// which then looks at the address.
func (p *page) serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return noSuchCall(w, r)
	}
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	header := w.Header()
	header.Set("Content-Security-Policy", p.policy)
	header.Set("X-Frame-Options", "DENY")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	if info, err := fs.Stat(p.files, name); name != "" && name != "index.html" && err == nil && !info.IsDir() {
		// The build puts a digest into the names of these; the others may change with the next
		// version.
		if strings.HasPrefix(name, "assets/") {
			header.Set("Cache-Control", "public, max-age=31536000, immutable")
		} else {
			header.Set("Cache-Control", "no-cache")
		}
		p.serveF.ServeHTTP(w, r)
		return nil
	}
	if !opensPage(r, name) {
		return noSuchCall(w, r)
	}
	if _, err := fs.Stat(p.files, "index.html"); err != nil {
		return &failure{http.StatusNotFound, "NoPage", "This build of ForeverVM has no page in it. Build it with `make build`."}
	}
	header.Set("Cache-Control", "no-cache")
	index := *r
	address := *r.URL
	address.Path, address.RawPath = "/", ""
	index.URL = &address
	p.serveF.ServeHTTP(w, &index)
	return nil
}

// opensPage says whether a request comes from someone who opens an address, not from a program that
// wants a file.
func opensPage(r *http.Request, name string) bool {
	if name == "" || name == "index.html" {
		return true
	}
	return !strings.HasPrefix(name, ".well-known/") && path.Ext(name) == "" && strings.Contains(r.Header.Get("Accept"), "text/html")
}
