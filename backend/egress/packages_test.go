package egress

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/egress/tlstest"
	"github.com/forevervm/desktop/backend/machine"
)

// pypi is an index of packages that a test made up.
type pypi struct {
	*world
	lists  map[string]string // projects' JSON
	files  map[string]string // by path
	served []string          // paths that were answered with something, and how
}

func digestOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// newPypi is a world with an index. Its certificates are of an authority that this computer is told
// of.
func newPypi(t *testing.T) *pypi {
	i := &pypi{world: newWorld(t, machine.NetworkPublic), lists: map[string]string{}, files: map[string]string{}}
	authority := tlstest.NewAuthority(t)
	i.proxy.config.Getenv = func(name string) string {
		if name == "SSL_CERT_FILE" {
			return authority.File
		}
		return ""
	}
	var err error
	if i.proxy.packages, err = newPackages(i.proxy, filepath.Join(t.TempDir(), "packages")); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		said := "404"
		project := strings.Trim(strings.TrimPrefix(r.URL.Path, "/simple/"), "/")
		list, isList := i.lists[project]
		file, isFile := i.files[r.URL.Path]
		switch {
		case isList && r.Host == "pypi.org" && r.Header.Get("If-None-Match") == `"`+digestOf(list)+`"`:
			said = "304"
			w.WriteHeader(http.StatusNotModified)
		case isList && r.Host == "pypi.org":
			said = "200"
			w.Header().Set("ETag", `"`+digestOf(list)+`"`)
			w.Header().Set("Content-Type", listingType)
			_, _ = io.WriteString(w, list)
		case isFile && r.Host == "files.example":
			said = "200"
			_, _ = io.WriteString(w, file)
		default:
			http.NotFound(w, r)
		}
		i.served = append(i.served, said+" "+r.URL.Path)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{authority.Certificate("pypi.org", "files.example")}}
	server.StartTLS()
	i.site("pypi.org", "192.31.196.80", 443, server)
	i.names["files.example"] = []string{"192.31.196.80"}
	return i
}

// add puts a file of a project into the index, under the digest of what it should be.
func (i *pypi) add(project, name, content, should, about string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	path := "/packages/" + name
	i.files[path] = content
	file := fmt.Sprintf(`{"filename": %q, "hashes": {"sha256": %q}, "url": "https://files.example%s", "requires-python": ">=3.9"`, name, digestOf(should), path)
	if about != "" {
		i.files[path+".metadata"] = about
		file += fmt.Sprintf(`, "core-metadata": {"sha256": %q}`, digestOf(about))
	}
	before := strings.TrimSuffix(i.lists[project], `]}`)
	if before == "" {
		before = `{"name": "` + project + `", "meta": {"api-version": "1.1"}, "files": [`
	} else {
		before += ", "
	}
	i.lists[project] = before + file + "}]}"
}

// ask asks as pip does, which follows no redirect here.
func (i *pypi) ask(method, path string) (status int, body string, header http.Header) {
	i.t.Helper()
	r, err := http.NewRequest(method, i.url.String()+path, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	r.Header.Set("Accept", listingType+", text/html; q=0.01")
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, string(all), nil
	}
	return answer.StatusCode, string(all), answer.Header
}

// asked is what the index was asked for since the policy was set, and what was dialled.
func (i *pypi) asked() (served, dialled string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return fmt.Sprint(i.served), fmt.Sprint(i.dialled)
}

// list asks for the files of a project, and returns their addresses by name.
func (i *pypi) list(project string) map[string]string {
	i.t.Helper()
	status, body, header := i.ask("GET", "/pypi/simple/"+project+"/")
	var list struct {
		Name  string
		Files []map[string]any
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != 200 || header.Get("Content-Type") != listingType || list.Name == "" {
		i.t.Fatalf("%s is listed as %d %.200s", project, status, body)
	}
	found := map[string]string{}
	for _, file := range list.Files {
		found[file["filename"].(string)] = file["url"].(string)
		if file["requires-python"] != ">=3.9" {
			i.t.Errorf("what the index says is lost: %v", file)
		}
	}
	return found
}

func (i *pypi) policy(mode machine.NetworkMode) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.world.policy = machine.NetworkPolicy{Mode: mode}
	i.dialled, i.served = nil, nil
}

// What one machine has installed, the next one installs without the network, and nothing else.
func TestPackagesAreKeptForTheNextMachine(t *testing.T) {
	i := newPypi(t)
	wheel := strings.Repeat("a wheel ", 100_000)
	i.add("some-thing", "some_thing-1-py3-none-any.whl", "old", "old", "")
	i.add("some-thing", "some_thing-2-py3-none-any.whl", wheel, wheel, "Name: some-thing")
	i.add("some-thing", "some_thing-2.tar.gz", "source", "source", "")

	list := i.list("Some_Thing")
	address := list["some_thing-2-py3-none-any.whl"]
	if len(list) != 3 || !strings.HasPrefix(address, "/pypi/files/") || list["some_thing-2.tar.gz"] != "https://files.example/packages/some_thing-2.tar.gz" {
		t.Fatalf("listed: %v", list)
	}
	for what, want := range map[string]string{address: wheel, address + ".metadata": "Name: some-thing"} {
		if status, body, header := i.ask("GET", what); status != 200 || body != want || header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d, %d bytes, %v", what, status, len(body), header)
		}
	}
	if c := i.last(); c.Host != "files.example" || c.State != machine.ConnectionClosed {
		t.Errorf("it is recorded as %+v", c)
	}
	i.policy(machine.NetworkPublic)
	list = i.list("some-thing")
	if served, _ := i.asked(); len(list) != 3 || served != "[304 /simple/some-thing/]" {
		t.Errorf("asked again: %v, %v", list, served)
	}

	i.policy(machine.NetworkOff)
	if list = i.list("some.thing"); len(list) != 1 || list["some_thing-2-py3-none-any.whl"] != address {
		t.Errorf("without a network: %v", list)
	}
	for what, want := range map[string]string{address: wheel, address + ".metadata": "Name: some-thing"} {
		if status, body, _ := i.ask("GET", what); status != 200 || body != want {
			t.Errorf("without a network, %s: %d, %d bytes", what, status, len(body))
		}
	}
	// What is not kept is the machine's to fetch, which hears why it cannot.
	for what, where := range map[string]string{
		"/pypi/simple/other/": "https://pypi.org/simple/other/",
		strings.NewReplacer(digestOf(wheel), digestOf("old"), "-2-", "-1-").Replace(address): "https://files.example/packages/some_thing-1-py3-none-any.whl",
	} {
		if status, _, header := i.ask("GET", what); status != http.StatusTemporaryRedirect || header.Get("Location") != where {
			t.Errorf("%s leads to %d %v", what, status, header)
		}
	}
	if served, dialled := i.asked(); served+dialled != "[][]" {
		t.Errorf("asked %v, dialled %v", served, dialled)
	}
	i.policy(machine.NetworkPublic)
	if status, _, _ := i.ask("GET", "/pypi/simple/none/"); status != http.StatusNotFound {
		t.Errorf("what does not exist: %d", status)
	}
}

// Bytes that the index did not name are not kept, and who asked for them is not told that they were
// all.
func TestOtherBytesAreNotKept(t *testing.T) {
	i := newPypi(t)
	for n, content := range map[string]string{"short": "evil", "long": strings.Repeat("evil", 100_000), "empty": ""} {
		i.add("thing", n+"-1-py3-none-any.whl", content, "good", "")
	}
	for name, address := range i.list("thing") {
		if status, body, _ := i.ask("GET", address); status == 200 || strings.HasSuffix(body, "evil") && len(body) >= 400_000 {
			t.Errorf("%s: %d, %d bytes", name, status, len(body))
		}
	}
	left, err := os.ReadDir(i.proxy.packages.shelf.dir)
	if err != nil || len(left) != 1 || left[0].Name() != "thing.json" {
		t.Errorf("kept: %v, %v", left, err)
	}
	// Nor is anything from who is not the index: here, somebody without its certificate.
	i.site("pypi.org", "192.31.196.81", 443, httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", listingType)
		_, _ = io.WriteString(w, `{"name": "other", "files": []}`)
	})))
	i.mu.Lock()
	i.names["pypi.org"] = []string{"192.31.196.81"}
	i.mu.Unlock()
	if status, body, _ := i.ask("GET", "/pypi/simple/other/"); status != http.StatusTemporaryRedirect {
		t.Errorf("somebody else's list: %d %s", status, body)
	}
}

func TestPackagesAnswerNothingElse(t *testing.T) {
	i := newPypi(t)
	secret := filepath.Join(filepath.Dir(i.proxy.packages.shelf.dir), "secret.whl")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	digest := digestOf("x")
	for _, path := range []string{
		"/pypi/", "/pypi/simple/", "/pypi/simple/../../secret/", "/pypi/simple/%2e%2e/", "/pypi/simple/a%2fb/", "/pypi/simple/a%00/", "/pypi/simple/-/",
		"/pypi/simple/" + strings.Repeat("a", 200) + "/", "/pypi/files/thing/" + digest + "/x.tar.gz", "/pypi/files/thing/" + digest + "/x.whl",
		"/pypi/files/thing/..%2fsecret/x.whl", "/pypi/files/../secret.whl", "/pypi/files/thing/" + digest + "/..%2f..%2fsecret.whl", "/pypi/files/a/b/c/d.whl",
	} {
		if status, body, _ := i.ask("GET", path); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, _, _ := i.ask("PUT", "/pypi/simple/thing/"); status != http.StatusMethodNotAllowed {
		t.Errorf("PUT: %d", status)
	}
	if _, dialled := i.asked(); dialled != "[]" {
		t.Errorf("dialled %v", dialled)
	}
}

func TestTheShelfHasRoom(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "half.part"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := newShelf(dir, 25)
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string) {
		t.Helper()
		file, err := s.begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte("0123456789")); err != nil {
			t.Fatal(err)
		}
		if err := file.keep(name); err != nil {
			t.Fatal(err)
		}
	}
	for n, name := range []string{"a", "b"} {
		put(name)
		at := time.Now().Add(time.Duration(n-10) * time.Minute)
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if file, err := s.open("a"); err != nil {
		t.Fatal(err)
	} else {
		file.Close()
	}
	put("c")
	if !s.has("a") || s.has("b") || !s.has("c") || s.has("half.part") {
		left, _ := os.ReadDir(dir)
		t.Errorf("left: %v", left)
	}
}

// Whatever the index says, what a machine is given is JSON, and says the same but for where wheels
// are.
func FuzzListing(f *testing.F) {
	digest := digestOf("x")
	wheel := `{"filename": "a-1-py3-none-any.whl", "url": "https://files.example/a-1-py3-none-any.whl", "hashes": {"sha256": "` + digest + `"}, "size": 1, "core-metadata": {"sha256": "` + digest + `"}}`
	for _, list := range []string{
		`{"files": []}`, `{"files": [` + wheel + `, {"filename": "a-1.tar.gz", "url": "https://files.example/a-1.tar.gz"}], "name": "a", "versions": ["1"]}`,
		`{"files": [` + strings.Replace(wheel, "https:", "http:", 1) + `]}`, `{"files": [` + strings.Replace(wheel, `"size": 1`, `"size": 1e99`, 1) + `]}`,
		`{"files": [` + strings.Replace(wheel, `"size": 1`, `"also": "https://files.example/a-1-py3-none-any.whl"`, 1) + `]}`,
		`{"files": [` + strings.Replace(wheel, "a-1-py3-none-any.whl", `..\/..\/a.whl`, 1) + `, null, 1, "x", [], {}]}`, `{"files": null}`, `{"files": {}}`, `[]`, `null`, ``,
	} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		all, ok := parseListing([]byte(list))
		if !ok {
			return
		}
		for _, only := range []func(string) bool{nil, func(name string) bool { return strings.HasSuffix(name, ".whl") }} {
			answer, left := all.offered("a", only)
			var given struct {
				Files []json.RawMessage `json:"files"`
			}
			if err := json.Unmarshal(answer, &given); err != nil || len(given.Files) != left || only == nil && left != len(all.each) {
				t.Fatalf("%q is given as %q: %v, %d", list, answer, err, left)
			}
			for _, file := range given.Files {
				if w, ok := wheelOf(file); ok && only != nil {
					t.Errorf("%q is given, and is elsewhere: %q", file, w.address)
				}
			}
		}
	})
}
