package update

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aead.dev/minisign"
)

var today = time.Now().UTC()

// releases is a feed on this computer, and an installation of 1.0.0 that asks it.
type releases struct {
	t       *testing.T
	private minisign.PrivateKey
	keys    Keys
	folder  string // what the feed serves
	url     string
	serve   atomic.Pointer[http.HandlerFunc] // in place of the files, where set
	config  Config
	now     time.Time
}

func newReleases(t *testing.T) *releases {
	t.Helper()
	r := &releases{t: t, folder: t.TempDir(), now: today}
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r.private, r.keys = private, Keys{public}
	files := http.FileServer(http.Dir(r.folder))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if other := r.serve.Load(); other != nil {
			(*other)(w, request)
			return
		}
		files.ServeHTTP(w, request)
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	bin := t.TempDir()
	write(t, filepath.Join(bin, packageFile), []byte("deb\n"))
	r.config = Config{Folder: filepath.Join(t.TempDir(), "updates"), Bin: bin, Version: "1.0.0", Feed: r.url, Keys: r.keys, Now: func() time.Time { return r.now }}
	return r
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
}

// announce puts a release into the feed: its package holds the text. change may make the manifest
// another before it is signed.
func (r *releases) announce(version, text string, change func(*Manifest)) {
	r.t.Helper()
	sum := sha256.Sum256([]byte(text))
	m := Manifest{
		Product: Product, Version: version, IssuedAt: today.Add(-time.Hour), ExpiresAt: today.Add(48 * time.Hour), Notes: "New: " + version,
		Files: []File{{Package: "deb", System: runtime.GOOS, Architecture: runtime.GOARCH, Name: "forevervm-" + version + ".deb", Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}},
	}
	if change != nil {
		change(&m)
	}
	document, err := json.Marshal(m)
	if err != nil {
		r.t.Fatal(err)
	}
	write(r.t, filepath.Join(r.folder, ManifestName), document)
	write(r.t, filepath.Join(r.folder, SignaturesName), minisign.Sign(r.private, document))
	write(r.t, filepath.Join(r.folder, "forevervm-"+version+".deb"), []byte(text))
}

func (r *releases) updater() *Updater {
	r.t.Helper()
	u, err := New(r.config)
	if err != nil {
		r.t.Fatal(err)
	}
	return u
}

// installs puts a stand-in for the system's installer on the path, which keeps what it was given,
// and returns where. The test is skipped where programs are no scripts, or the administrator would
// have to be asked.
func (r *releases) installs(status string) string {
	r.t.Helper()
	if runtime.GOOS != "linux" {
		r.t.Skip("the stand-in for the installer is a script")
	}
	tools, installed := r.t.TempDir(), filepath.Join(r.t.TempDir(), "installed")
	write(r.t, filepath.Join(tools, "apt-get"), []byte("#!/bin/sh\n[ \"$1 $2\" = 'install --yes' ] || exit 9\nread -r line <\"$3\"; printf %s \"$line\" >"+installed+"\nexit "+status+"\n"))
	r.t.Setenv("PATH", tools)
	return installed
}

func TestANewerReleaseIsToldDownloadedAndInstalled(t *testing.T) {
	r := newReleases(t)
	r.announce("1.1.0", "the package", nil)
	installed := r.installs("0")
	newer, err := r.updater().Look(t.Context())
	if err != nil || newer == nil || newer.Version != "1.1.0" || newer.Notes != "New: 1.1.0" || newer.Size != 11 || newer.Ready {
		t.Fatalf("%+v, %v", newer, err)
	}
	if newer, err = r.updater().Download(t.Context()); err != nil || !newer.Ready {
		t.Fatalf("%+v, %v", newer, err)
	}
	// Another process installs it, with nothing but what lies there, and not forever.
	if _, _, err := r.updater().Staged().open(r.config.Bin, "1.0.0", r.keys, today.Add(72*time.Hour)); !errors.Is(err, ErrExpired) {
		t.Errorf("what was downloaded long ago: %v", err)
	}
	if err := r.updater().Staged().Apply(t.Context(), r.config.Bin, "1.0.0", r.keys, io.Discard); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(installed); err != nil || string(got) != "the package" {
		t.Errorf("installed was %q, %v", got, err)
	}
	r.config.Version = "1.1.0"
	if newer, err := r.updater().Look(t.Context()); err != nil || newer != nil {
		t.Errorf("the version that runs is newer than itself: %+v, %v", newer, err)
	}
}

func TestAnnouncementsThatAreNotToBeBelieved(t *testing.T) {
	for name, one := range map[string]struct {
		change func(*releases)
		want   error
	}{
		"forged by another key": {func(r *releases) {
			_, other, err := minisign.GenerateKey(rand.Reader)
			if err != nil {
				r.t.Fatal(err)
			}
			r.private = other
			r.announce("9.0.0", "bad", nil)
		}, ErrForged},
		"changed after it was signed": {func(r *releases) {
			path := filepath.Join(r.folder, ManifestName)
			document, err := os.ReadFile(path)
			if err != nil {
				r.t.Fatal(err)
			}
			write(r.t, path, bytes.Replace(document, []byte("1.2.0"), []byte("1.3.0"), 1))
		}, ErrForged},
		"cut off": {func(r *releases) {
			if err := os.Truncate(filepath.Join(r.folder, ManifestName), 40); err != nil {
				r.t.Fatal(err)
			}
		}, ErrForged},
		"without signature": {func(r *releases) { write(r.t, filepath.Join(r.folder, SignaturesName), nil) }, ErrForged},
		"expired":           {func(r *releases) { r.now = today.Add(72 * time.Hour) }, ErrExpired},
		"replayed": {func(r *releases) {
			r.announce("1.1.0", "less", func(m *Manifest) { m.IssuedAt = today.Add(-2 * time.Hour) })
		}, ErrReplayed},
		"of an older release":   {func(r *releases) { r.announce("0.9.0", "old", nil) }, ErrOlder},
		"of another product":    {func(r *releases) { r.announce("9.0.0", "x", func(m *Manifest) { m.Product = "other" }) }, ErrDamaged},
		"with a path as a name": {func(r *releases) { r.announce("9.0.0", "x", func(m *Manifest) { m.Files[0].Name = "../x" }) }, ErrDamaged},
		"endless": {func(r *releases) {
			write(r.t, filepath.Join(r.folder, ManifestName), make([]byte, mostOfManifest+1))
		}, ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReleases(t)
			r.announce("1.2.0", "good", nil)
			u := r.updater()
			if _, err := u.Look(t.Context()); err != nil {
				t.Fatal(err)
			}
			one.change(r)
			for _, u := range []*Updater{u, r.updater()} { // a restart forgets nothing
				if _, err := u.Look(t.Context()); !errors.Is(err, one.want) {
					t.Errorf("looking: %v, want %v", err, one.want)
				}
				if _, err := u.Download(t.Context()); !errors.Is(err, one.want) {
					t.Errorf("downloading: %v, want %v", err, one.want)
				}
				if newer := u.Newer(); newer == nil || newer.Version != "1.2.0" {
					t.Errorf("what was known is now %+v", newer)
				}
			}
		})
	}
}

func TestKeysRotate(t *testing.T) {
	r := newReleases(t)
	r.announce("1.1.0", "x", nil)
	document, err := os.ReadFile(filepath.Join(r.folder, ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	next, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(r.folder, SignaturesName), append(append(minisign.Sign(private, document), '\n'), minisign.Sign(r.private, document)...))
	text := r.keys[0].String() + ", " + next.String()
	both, err := ParseKeys(text)
	if err != nil || len(both) != 2 {
		t.Fatalf("%q: %v, %v", text, both, err)
	}
	for name, keys := range map[string]Keys{"the old key": r.keys, "the new key": {next}, "both": both} {
		r.config.Keys, r.config.Folder = keys, t.TempDir()
		if newer, err := r.updater().Look(t.Context()); err != nil || newer == nil {
			t.Errorf("who knows %s hears %+v, %v", name, newer, err)
		}
	}
	// Once all know the new key it signs alone, and the old one is worth nothing to who has got it.
	write(t, filepath.Join(r.folder, SignaturesName), minisign.Sign(private, document))
	r.config.Keys, r.config.Folder = both, t.TempDir()
	if newer, err := r.updater().Look(t.Context()); err != nil || newer == nil {
		t.Errorf("signed by the new key alone: %+v, %v", newer, err)
	}
	write(t, filepath.Join(r.folder, SignaturesName), minisign.Sign(r.private, document))
	r.config.Keys, r.config.Folder = Keys{next}, t.TempDir()
	if _, err := r.updater().Look(t.Context()); !errors.Is(err, ErrForged) {
		t.Errorf("signed by the key of former times alone: %v", err)
	}
}

// A download is cut off again and again, then the program dies, then the feed knows of no ranges:
// what was signed arrives, and nothing else ever stands under its name.
func TestAnInterruptedDownloadGoesOn(t *testing.T) {
	r := newReleases(t)
	text := strings.Repeat("0123456789", 50_000)
	r.announce("1.1.0", text, nil)
	whole := filepath.Join(r.config.Folder, "forevervm-1.1.0.deb")
	var asked atomic.Int64
	cutOff := http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		path := filepath.Join(r.folder, filepath.Base(request.URL.Path))
		if filepath.Ext(path) != ".deb" {
			http.ServeFile(w, request, path)
			return
		}
		if asked.Add(1) > 3 {
			panic(http.ErrAbortHandler)
		}
		http.ServeFile(&atMost{ResponseWriter: w, left: 100_000}, request, path)
	})
	r.serve.Store(&cutOff)
	if _, err := r.updater().Download(t.Context()); err == nil || !strings.Contains(err.Error(), "goes on") {
		t.Errorf("an interrupted download: %v", err)
	}
	parts, _ := filepath.Glob(filepath.Join(r.config.Folder, "*.part"))
	if len(parts) != 1 || sizeOf(parts[0]) < 200_000 {
		t.Fatalf("%v are here", parts)
	}
	if _, err := os.Stat(whole); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what is not whole stands there: %v", err)
	}
	had := sizeOf(parts[0])
	var from atomic.Pointer[string]
	noting := http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if wanted := request.Header.Get("Range"); wanted != "" {
			from.Store(&wanted)
		}
		http.ServeFile(w, request, filepath.Join(r.folder, filepath.Base(request.URL.Path)))
	})
	r.serve.Store(&noting)
	if newer, err := r.updater().Download(t.Context()); err != nil || !newer.Ready || newer.Bytes != int64(len(text)) {
		t.Fatalf("%+v, %v", newer, err)
	}
	if from.Load() == nil || had == 0 {
		t.Error("it started over")
	}
	if got, err := os.ReadFile(whole); err != nil || string(got) != text {
		t.Errorf("%d bytes, %v", len(got), err)
	}

	if err := os.Rename(whole, parts[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(parts[0], 1000); err != nil {
		t.Fatal(err)
	}
	noRanges := http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		request.Header.Del("Range")
		http.ServeFile(w, request, filepath.Join(r.folder, filepath.Base(request.URL.Path)))
	})
	r.serve.Store(&noRanges)
	if _, err := r.updater().Download(t.Context()); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(whole); err != nil || string(got) != text {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// atMost breaks the connection after so many bytes of a body.
type atMost struct {
	http.ResponseWriter
	left int
}

func (w *atMost) Write(data []byte) (int, error) {
	if len(data) > w.left {
		_, _ = w.ResponseWriter.Write(data[:w.left])
		_ = http.NewResponseController(w.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	w.left -= len(data)
	return w.ResponseWriter.Write(data)
}

// Other bytes than those that were signed are not kept, and not installed when they came later.
func TestAPackageThatIsNotTheOneThatWasSigned(t *testing.T) {
	r := newReleases(t)
	r.announce("1.1.0", "the package", nil)
	path := filepath.Join(r.folder, "forevervm-1.1.0.deb")
	installed := r.installs("0")
	for _, other := range []string{"the p4ckage", "the pack", ""} {
		write(t, path, []byte(other))
		if newer, err := r.updater().Download(t.Context()); err == nil {
			t.Errorf("%q was taken: %+v", other, newer)
		}
	}
	write(t, path, []byte("the package"))
	if _, err := r.updater().Download(t.Context()); err != nil {
		t.Fatal(err)
	}
	staged := filepath.Join(r.config.Folder, "forevervm-1.1.0.deb")
	for _, other := range []string{"the p4ckage", "the pack", "the package, and more"} {
		write(t, staged, []byte(other))
		if err := r.updater().Staged().Apply(t.Context(), r.config.Bin, "1.0.0", r.keys, io.Discard); !errors.Is(err, errNotSigned) {
			t.Errorf("%q: %v", other, err)
		}
	}
	if _, err := os.Stat(installed); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was installed: %v", err)
	}
}

func TestAnInstallerThatFailsIsTold(t *testing.T) {
	r := newReleases(t)
	r.announce("1.1.0", "the package", nil)
	r.installs("3")
	if _, err := r.updater().Download(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := r.updater().Staged().Apply(context.WithoutCancel(t.Context()), r.config.Bin, "1.0.0", r.keys, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "1.0.0 is still here") {
		t.Error(err)
	}
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "forevervm-update-*"))
	for _, path := range left {
		if _, err := os.Stat(filepath.Join(path, "forevervm-1.1.0.deb")); err == nil {
			t.Errorf("%s is left behind", path)
		}
	}
}

func TestWhoeverDoesNotGiveTheRightsIsToldSo(t *testing.T) {
	for _, one := range []struct {
		way, status, want string
		heard             bool
	}{
		{"pkexec", "126", "the rights of the administrator were not given, and version 1.0.0 is still here", false},
		{"pkexec", "3", "it could not be installed, and version 1.0.0 is still here: exit status 3; `forevervm update install` in a terminal says why", false},
		{"sudo", "126", "it could not be installed, and version 1.0.0 is still here: exit status 126", true},
	} {
		err := exec.CommandContext(t.Context(), "sh", "-c", "exit "+one.status).Run()
		if got := notInstalled("1.0.0", one.way, one.heard, err); got.Error() != one.want {
			t.Errorf("%s, %s: %v", one.way, one.status, got)
		}
	}
}

func TestABuildOfOnesOwnIsNotReplaced(t *testing.T) {
	r := newReleases(t)
	if err := os.Remove(filepath.Join(r.config.Bin, packageFile)); err != nil {
		t.Fatal(err)
	}
	r.announce("1.1.0", "x", nil)
	if newer, err := r.updater().Look(t.Context()); err != nil || newer == nil || newer.Size != 0 {
		t.Errorf("%+v, %v", newer, err)
	}
	if _, err := r.updater().Download(t.Context()); err == nil || !strings.Contains(err.Error(), "built here") {
		t.Error(err)
	}
}

// pretend answers in place of the feed, without a network: its time can then be the test's.
type pretend func(*http.Request) (*http.Response, error)

func (p pretend) RoundTrip(request *http.Request) (*http.Response, error) { return p(request) }

// Once a day it is looked, however often the program starts; not where that is off, or paid for by
// what goes over the connection, and then as soon as that is no longer so. Who is offline hears
// nothing, and is not a day behind for it.
func TestOnceADayItIsLooked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		public, private, err := minisign.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		document, err := json.Marshal(Manifest{Product: Product, Version: "1.1.0", IssuedAt: time.Now().Add(-time.Hour), ExpiresAt: time.Now().Add(1000 * time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		answers := map[string][]byte{ManifestName: document, SignaturesName: minisign.Sign(private, document)}
		var mu sync.Mutex // guards what follows, and answers
		var looks, heard, bad int
		var off, paid, offline bool
		now := func(change func()) {
			mu.Lock()
			defer mu.Unlock()
			change()
		}
		is := func(what *bool) bool {
			mu.Lock()
			defer mu.Unlock()
			return *what
		}
		start := func() (end func()) {
			u, err := New(Config{Folder: folder, Version: "1.0.0", Feed: "https://releases.example", Keys: Keys{public}, Metered: func(context.Context) bool { return is(&paid) }})
			if err != nil {
				t.Fatal(err)
			}
			u.feed.http.Transport = pretend(func(request *http.Request) (*http.Response, error) {
				mu.Lock()
				defer mu.Unlock()
				name := filepath.Base(request.URL.Path)
				if name == ManifestName {
					looks++
				}
				if offline {
					return nil, errors.New("no route")
				}
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(answers[name])), Request: request}, nil
			})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				u.Watch(ctx, func() bool { return !is(&off) }, func(newer *Release, err error) {
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err != nil:
						bad++
					case newer != nil && newer.Version == "1.1.0":
						heard++
					}
				})
			}()
			return func() { cancel(); <-done }
		}
		after := func(pause time.Duration, what string, wantLooks, wantHeard, wantBad int) {
			t.Helper()
			time.Sleep(pause)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if looks != wantLooks || heard != wantHeard || bad != wantBad {
				t.Errorf("%s: looked %d times, told %d and %d times; want %d, %d and %d", what, looks, heard, bad, wantLooks, wantHeard, wantBad)
			}
		}
		end := start()
		after(2*time.Minute, "after the start", 1, 1, 0)
		after(23*time.Hour, "on the same day", 1, 1, 0)
		end()
		end = start()
		after(30*time.Minute, "after a restart on the same day", 1, 1, 0)
		after(time.Hour, "on the next day", 2, 2, 0)
		now(func() { off = true })
		after(48*time.Hour, "while it is off", 2, 2, 0)
		now(func() { off, paid = false, true })
		after(48*time.Hour, "while the connection is paid for", 2, 2, 0)
		now(func() { paid = false })
		after(20*time.Minute, "once it is not", 3, 3, 0)
		now(func() { offline = true })
		after(25*time.Hour, "offline", 5, 3, 0)
		now(func() { offline = false })
		after(70*time.Minute, "online again", 6, 4, 0)
		now(func() { answers[SignaturesName] = nil })
		after(25*time.Hour, "forged", 7, 4, 1)
		end()
	})
}

// A feed that says nothing, or stops in the middle, keeps nobody waiting forever; what came of a
// package stays.
func TestASlowFeed(t *testing.T) {
	r := newReleases(t)
	r.announce("1.1.0", strings.Repeat("x", 1000), nil)
	slow := func(which string, begins int) {
		handler := http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			name := filepath.Base(request.URL.Path)
			if filepath.Ext(name) != which {
				http.ServeFile(w, request, filepath.Join(r.folder, name))
				return
			}
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write(make([]byte, begins))
			_ = http.NewResponseController(w).Flush()
			<-request.Context().Done()
		})
		r.serve.Store(&handler)
	}
	u := r.updater()
	u.feed.within, u.feed.stalls = 50*time.Millisecond, 50*time.Millisecond
	for _, which := range []string{".json", ".minisig"} {
		slow(which, 10)
		if _, err := u.Look(t.Context()); !errors.Is(err, ErrUnreachable) {
			t.Errorf("a slow %s: %v", which, err)
		}
	}
	u.feed.within = time.Minute
	slow(".deb", 400)
	_, err := u.Download(t.Context())
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "nothing has come from there for 50ms") || !strings.Contains(err.Error(), "400 of 1000 bytes; it goes on from there") {
		t.Errorf("a slow package: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	u.feed.stalls = time.Minute
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := u.Download(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a download that is called off: %v", err)
	}
}

// A computer whose clock was wrong looks again.
func TestAClockThatWasWrong(t *testing.T) {
	r := newReleases(t)
	r.announce("1.1.0", "x", func(m *Manifest) { m.ExpiresAt = today.AddDate(20, 0, 0) })
	r.now = today.AddDate(10, 0, 0)
	if _, err := r.updater().Look(t.Context()); err != nil || r.updater().due() {
		t.Fatalf("just looked, and due again; %v", err)
	}
	r.now = today
	if !r.updater().due() {
		t.Error("it does not look for ten years")
	}
}

// What an interrupted installation left is removed by a later one, unless it may still be going on.
func TestOldCopiesGo(t *testing.T) {
	r := newReleases(t)
	r.announce("1.1.0", "the package", nil)
	r.installs("0")
	t.Setenv("TMPDIR", t.TempDir())
	var folders []string
	for range 2 {
		folder, err := os.MkdirTemp("", copies)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, "x.deb"), []byte("x"))
		folders = append(folders, folder)
	}
	if err := os.Chtimes(folders[0], today, today.Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.updater().Download(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.updater().Staged().Apply(t.Context(), r.config.Bin, "1.0.0", r.keys, io.Discard); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), copies+"*"))
	if len(left) != 1 || left[0] != folders[1] {
		t.Errorf("%v are left of %v", left, folders)
	}
}

func TestWhereThereIsNoFeed(t *testing.T) {
	r := newReleases(t)
	for _, config := range []Config{{}, {Feed: r.url}, {Feed: r.url, Keys: r.keys, Version: "dev"}} {
		if _, err := New(config); !errors.Is(err, ErrOff) {
			t.Errorf("%+v: %v", config, err)
		}
	}
	for _, feed := range []string{"http://example.com/", "http://localhost.example.com", "http://127.0.0.1@example.com", "file:///tmp", "ftp://localhost", "https://", "//example.com", "x"} {
		r.config.Feed = feed
		if _, err := New(r.config); err == nil || !strings.Contains(err.Error(), "https") {
			t.Errorf("%s: %v", feed, err)
		}
	}
	detour := httptest.NewServer(http.RedirectHandler("http://releases.example/", http.StatusFound))
	defer detour.Close()
	r.config.Feed = detour.URL
	if _, err := r.updater().Look(t.Context()); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "it leads to") {
		t.Errorf("a detour that everybody on the way can read: %v", err)
	}
	r.config.Feed = r.url + "/nothing"
	if _, err := r.updater().Look(t.Context()); !errors.Is(err, ErrUnreachable) {
		t.Error(err)
	}
}
