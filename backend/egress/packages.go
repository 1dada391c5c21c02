package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// Where pip in a machine finds the index of packages: at the relay, so here.
const (
	relayIndex  = relayHTTP + listingPath
	listingPath = "/pypi/simple/"
	wheelPath   = "/pypi/files/"
)

const (
	index       = "https://pypi.org/simple/"
	listingType = "application/vnd.pypi.simple.v1+json"

	maxListing  = 16 << 20 // bytes; machines are sent to longer ones
	maxWheel    = 1 << 30
	packageRoom = 5 << 30 // of all that is kept
	wheelPiece  = 64 << 10

	// answerPatience bounds how long the index may take to begin an answer.
	answerPatience = 30 * time.Second
	// idleIndex is how long a connection to it is kept for the next thing that is asked.
	idleIndex = 15 * time.Second
)

// packages is Python's package index as machines see it. It asks the real one, on the machine's
// behalf and so under its policy, on its record and within its limits; but a wheel that any machine
// has had is there, and where the real index cannot be reached so are the lists that it gave
// before, with what is kept of them. Nothing that comes from a machine gets to another: lists are
// the index's own, over TLS that is verified here, and a wheel is kept only when it has the digest
// that such a list names. What this cannot do, the machine is sent to do itself.
type packages struct {
	proxy *Proxy
	shelf *shelf

	mu    sync.Mutex
	turns map[machine.ID]chan struct{} // of each machine one list is read at a time: they are large
}

func newPackages(p *Proxy, dir string) (*packages, error) {
	shelf, err := newShelf(dir, packageRoom)
	return &packages{proxy: p, shelf: shelf, turns: map[machine.ID]chan struct{}{}}, err
}

// turn waits until the machine may have a list read, and returns what ends that.
func (p *packages) turn(ctx context.Context, id machine.ID) (leave func(), ok bool) {
	p.mu.Lock()
	turn := p.turns[id]
	if turn == nil {
		turn = make(chan struct{}, 1)
		p.turns[id] = turn
	}
	p.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, true
	case <-ctx.Done():
		return nil, false
	}
}

var (
	separators  = regexp.MustCompile(`[-_.]+`)
	projectName = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?$`)
	wheelName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+!-]{0,240}\.whl$`)
	sha256Name  = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

func (p *packages) serve(w http.ResponseWriter, r *http.Request, v *guest) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "ForeverVM: The index of packages is only read.", http.StatusMethodNotAllowed)
		return
	}
	if project, ok := strings.CutPrefix(r.URL.Path, listingPath); ok {
		project = separators.ReplaceAllString(strings.ToLower(strings.TrimSuffix(project, "/")), "-")
		if projectName.MatchString(project) {
			p.list(w, r, v, project)
			return
		}
	}
	rest, _ := strings.CutPrefix(r.URL.Path, wheelPath)
	parts := strings.Split(rest, "/")
	if len(parts) == 3 && projectName.MatchString(parts[0]) && sha256Name.MatchString(parts[1]) {
		name, about := strings.CutSuffix(parts[2], ".metadata")
		if wheelName.MatchString(name) {
			p.file(w, r, v, parts[0], parts[1], name, about)
			return
		}
	}
	http.NotFound(w, r)
}

// list answers what files a project has.
func (p *packages) list(w http.ResponseWriter, r *http.Request, v *guest, project string) {
	if accept := r.Header.Get("Accept"); !strings.Contains(accept, "json") && !strings.Contains(accept, "*/*") {
		http.Redirect(w, r, index+project+"/", http.StatusTemporaryRedirect) // it reads only pages
		return
	}
	leave, mine := p.turn(r.Context(), v.visit.Machine)
	if !mine {
		return
	}
	defer leave()
	kept, known := p.shelf.listing(project)
	var all files
	var ok bool
	var only func(name string) bool
	switch fresh, status := p.fetchListing(r.Context(), v, project, kept.tag); {
	case status == http.StatusOK:
		if bytes.Equal(fresh.body, kept.body) || p.shelf.keepListing(project, fresh) == nil {
			all, ok = parseListing(fresh.body)
		}
	case status == http.StatusNotFound:
		http.NotFound(w, r)
		return
	case known:
		if status != http.StatusNotModified { // it cannot be asked
			only = p.shelf.has
		}
		all, ok = parseListing(kept.body)
	}
	answer, left := all.offered(project, only)
	if !ok || left == 0 && only != nil {
		http.Redirect(w, r, index+project+"/", http.StatusTemporaryRedirect)
		return
	}
	w.Header().Set("Content-Type", listingType)
	_, _ = w.Write(answer)
}

// fetchListing asks the index for a project's files. The status is 0 where it does not answer as it
// should.
func (p *packages) fetchListing(ctx context.Context, v *guest, project, tag string) (listing, int) {
	header := http.Header{"Accept": {listingType}}
	if tag != "" {
		header.Set("If-None-Match", tag)
	}
	answer, err := p.get(ctx, v, index+project+"/", header)
	if err != nil {
		return listing{}, 0
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return listing{}, answer.StatusCode
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxListing+1))
	if err != nil || len(body) > maxListing || !json.Valid(body) {
		return listing{}, 0
	}
	return listing{answer.Header.Get("ETag"), body}, http.StatusOK
}

// file answers with a wheel, or with what is said about it.
func (p *packages) file(w http.ResponseWriter, r *http.Request, v *guest, project, digest, name string, about bool) {
	w.Header().Set("Cache-Control", "no-store") // it is kept here: the machine's disk need not hold it twice
	w.Header().Set("Content-Type", "application/octet-stream")
	if !about && p.offer(w, r, digest+".whl") {
		return
	}
	found, ok := p.find(r.Context(), v, project, digest, name)
	if !ok {
		http.NotFound(w, r)
		return
	}
	address, as := found.address, digest+".whl"
	if about {
		address, digest = address+".metadata", found.about
		as = digest + ".metadata"
		if p.offer(w, r, as) {
			return
		}
	}
	if r.Method == http.MethodHead || digest == "" || !p.fetch(w, r, v, address, digest, as) {
		http.Redirect(w, r, address, http.StatusTemporaryRedirect)
	}
}

// find looks for a wheel in what the index said of a project.
func (p *packages) find(ctx context.Context, v *guest, project, digest, name string) (wheel, bool) {
	leave, ok := p.turn(ctx, v.visit.Machine)
	if !ok {
		return wheel{}, false
	}
	defer leave()
	kept, _ := p.shelf.listing(project)
	all, _ := parseListing(kept.body)
	return all.find(digest, name)
}

// offer answers with what is kept under a name, if it is.
func (p *packages) offer(w http.ResponseWriter, r *http.Request, name string) bool {
	file, err := p.shelf.open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	http.ServeContent(w, r, "", time.Time{}, file)
	return true
}

// fetch answers with a file from the outside, and keeps it if it has the digest. It is false where
// nothing was answered yet. The last bytes are given out only when they are known to be right: who
// is given others is not told that this was all.
func (p *packages) fetch(w http.ResponseWriter, r *http.Request, v *guest, address, digest, as string) bool {
	answer, err := p.get(r.Context(), v, address, nil)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK || answer.ContentLength > maxWheel {
		return false
	}
	kept, err := p.shelf.begin()
	if err != nil {
		return false
	}
	if answer.ContentLength >= 0 {
		w.Header().Set("Content-Length", strconv.FormatInt(answer.ContentLength, 10))
	}
	body := io.LimitReader(answer.Body, maxWheel+1)
	var held []byte
	for next, spare := make([]byte, wheelPiece), make([]byte, wheelPiece); err == nil; {
		var n int
		n, err = io.ReadFull(body, next)
		if _, failed := kept.Write(next[:n]); failed != nil {
			err = failed
			break
		}
		if n == 0 {
			break
		}
		if _, gone := w.Write(held); gone != nil {
			err = gone
			break
		}
		held, next, spare = next[:n], spare, next
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || kept.digest() != digest {
		kept.drop()
		panic(http.ErrAbortHandler)
	}
	if err := kept.keep(as); err != nil {
		p.proxy.log.Warn("a package is not kept", "err", err)
	}
	_, _ = w.Write(held)
	return true
}

// get asks an address of the outside on a machine's behalf.
func (p *packages) get(ctx context.Context, v *guest, address string, header http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if header != nil {
		r.Header = header
	}
	r.Header.Set("User-Agent", "ForeverVM")
	v.indexOnce.Do(func() { v.index = p.client(v) })
	return v.index.Do(r)
}

// client is for one connection of a machine's, as long as that lasts: what it keeps open no other
// gets.
func (p *packages) client(v *guest) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			IdleConnTimeout: idleIndex, MaxIdleConnsPerHost: 1, DisableCompression: true, MaxResponseHeaderBytes: 1 << 20,
			ResponseHeaderTimeout: answerPatience, TLSHandshakeTimeout: answerPatience,
			TLSClientConfig: &tls.Config{RootCAs: p.proxy.roots(), MinVersion: tls.VersionTLS12},
			DialContext: func(ctx context.Context, _, to string) (net.Conn, error) {
				host, port, err := splitHostPort(to, 443)
				if err != nil {
					return nil, err
				}
				return p.proxy.open(ctx, v, host, port)
			},
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if r.URL.Scheme != "https" || len(via) > 5 {
				return errors.New("it leads elsewhere")
			}
			return nil
		},
	}
}

// files are those of a project, as the index lists them (PEP 691). What is not known here stays as
// it is.
type files struct {
	whole map[string]json.RawMessage
	each  []json.RawMessage
}

func parseListing(body []byte) (f files, ok bool) {
	if json.Unmarshal(body, &f.whole) != nil || json.Unmarshal(f.whole["files"], &f.each) != nil {
		return files{}, false
	}
	return f, true
}

// wheel is one that can be kept: the index says what its bytes are.
type wheel struct {
	name, digest, address string
	about                 string          // the digest of what is said about it, "" where none is named
	written               json.RawMessage // the address in the list
}

func wheelOf(file json.RawMessage) (w wheel, ok bool) {
	var listed struct {
		Filename string          `json:"filename"`
		URL      json.RawMessage `json:"url"`
		Size     int64           `json:"size"` // not every index says it
		Hashes   struct {
			SHA256 string `json:"sha256"`
		} `json:"hashes"`
		About json.RawMessage `json:"core-metadata"` // true, or digests
	}
	if !bytes.Contains(file, []byte(".whl")) || json.Unmarshal(file, &listed) != nil || json.Unmarshal(listed.URL, &w.address) != nil {
		return w, false
	}
	var about struct {
		SHA256 string `json:"sha256"`
	}
	if json.Unmarshal(listed.About, &about) == nil && sha256Name.MatchString(about.SHA256) {
		w.about = about.SHA256
	}
	w.name, w.digest, w.written = listed.Filename, listed.Hashes.SHA256, listed.URL
	return w, strings.HasPrefix(w.address, "https://") && bytes.Count(file, w.written) == 1 && listed.Size <= maxWheel &&
		wheelName.MatchString(w.name) && sha256Name.MatchString(w.digest)
}

func (f files) find(digest, name string) (wheel, bool) {
	for _, file := range f.each {
		if !bytes.Contains(file, []byte(digest)) {
			continue
		}
		if w, ok := wheelOf(file); ok && w.digest == digest && w.name == name {
			return w, true
		}
	}
	return wheel{}, false
}

// offered is the list as a machine is given it: wheels are to be had here. Where only says what is
// kept here, there is nothing else in it. It is put together by hand, as lists have tens of
// thousands of files.
func (f files) offered(project string, only func(name string) bool) (answer []byte, left int) {
	out := bytes.NewBufferString(`{"files":[`)
	for _, file := range f.each {
		w, ok := wheelOf(file)
		if ok && (only == nil || only(w.digest+".whl")) {
			file = bytes.Replace(file, w.written, []byte(`"`+wheelPath+project+"/"+w.digest+"/"+w.name+`"`), 1)
			if only != nil && !only(w.about+".metadata") {
				file = withoutAbout(file)
			}
		} else if only != nil {
			continue
		}
		if left++; left > 1 {
			out.WriteByte(',')
		}
		out.Write(file)
	}
	out.WriteByte(']')
	for key, value := range f.whole {
		if name, err := json.Marshal(key); err == nil && key != "files" {
			out.WriteByte(',')
			out.Write(name)
			out.WriteByte(':')
			out.Write(value)
		}
	}
	out.WriteByte('}')
	return out.Bytes(), left
}

// withoutAbout is a file of a list that has no more details.
func withoutAbout(file json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(file, &all) != nil {
		return file
	}
	for _, key := range []string{"core-metadata", "data-dist-info-metadata", "dist-info-metadata"} {
		delete(all, key)
	}
	less, err := json.Marshal(all)
	if err != nil {
		return file
	}
	return less
}
