package parcel

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/machine"
)

// sample is a machine to make files of.
type sample struct {
	about   machine.Foreign
	files   map[string][]byte
	history []machine.Instruction
	items   map[int][]machine.Item
}

func (s *sample) Open(name string) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(s.files[name])), nil
}

func (s *sample) History(_ context.Context, yield func(machine.Told) error) error {
	for _, in := range s.history {
		err := yield(machine.Told{Instruction: in, Items: func(yield func(machine.Item) error) error {
			for _, it := range s.items[in.Seq] {
				if err := yield(it); err != nil {
					return err
				}
			}
			return nil
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

var began = time.Unix(1_800_000_000, 123).UTC()

// newSample is a machine with something of everything.
func newSample() *sample {
	value, later := "'ü'", began.Add(time.Second)
	s := &sample{
		files: map[string][]byte{
			"checkpoint.img":  []byte("kernel state"),
			"pages.img":       append(append(make([]byte, 8192), "page"...), bytes.Repeat([]byte("abcd"), 1000)...),
			"pages_meta.img":  {},
			"input.bin":       {1, 2, 3},
			"never mentioned": []byte("x"),
		},
		history: []machine.Instruction{
			{
				Seq: 0, Code: "x = 'ü'\nx", Client: machine.Client{Name: "window", Version: "1"}, Timeout: time.Minute, Formats: []string{"svg"}, Status: machine.StatusOK,
				QueuedAt: began, StartedAt: &began, EndedAt: &later, Runtime: time.Millisecond, Value: &value, Data: []machine.Representation{{MIME: "text/html", Data: []byte("<b>")}},
				Items: 4, OutputDropped: 5, RolledBack: true,
			},
			{Seq: 1, Code: "1/0", Status: machine.StatusError, QueuedAt: began, StartedAt: &began, EndedAt: &later, ErrorName: "ZeroDivisionError", Error: "plain", ErrorANSI: "\x1b[31mred"},
			{Seq: 2, Code: "", Status: machine.StatusCancelled, QueuedAt: began},
		},
		items: map[int][]machine.Item{0: {
			{Index: 0, Kind: machine.ItemOutput, At: began, Stream: "stdout", Text: []byte("a\xff\n")},
			{Index: 1, Kind: machine.ItemDisplay, At: began, DisplayID: "d", Update: true, Representations: []machine.Representation{{MIME: "image/png", Data: []byte{1, 2}}, {MIME: "text/plain", Data: []byte("p")}}},
			{Index: 3, Kind: machine.ItemClear, At: later, Wait: true},
		}},
	}
	s.about = machine.Foreign{
		Name: "brave-otter-42", Title: "Sales", Tags: map[string]string{"team": "a"}, Image: "base", MemoryMB: 2048,
		State: machine.SavedState{
			CreatedAt: began, LastSeq: 2, Baseline: 7,
			Needs: machine.Needs{Processor: "amd64", Features: []string{"avx", "sse2"}, Image: "i", Runtime: "r", Spec: "s"},
		},
	}
	for _, name := range []string{"checkpoint.img", "pages.img", "pages_meta.img", "input.bin"} {
		s.about.State.Files = append(s.about.State.Files, machine.StateFile{Name: name, Size: int64(len(s.files[name]))})
	}
	return s
}

func testKey(n byte) ed25519.PrivateKey { return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, 32)) }

func (s *sample) file(t testing.TB, key ed25519.PrivateKey) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(context.Background(), &b, s.about, s, key, "0.1.7", began); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func anyone(Head) error { return nil }

func room() error { return nil }

// opened takes in a file and reads all of it.
func opened(t testing.TB, content []byte) (*sample, Head, error) {
	t.Helper()
	dir := t.TempDir()
	p, err := receive(context.Background(), bytes.NewReader(content), dir, anyone, room)
	if err != nil {
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		return nil, Head{}, err
	}
	s, err := p.all()
	p.Close()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	return s, p.Head, err
}

// all reads a file as service.Service does.
func (p *Parcel) all() (*sample, error) {
	s := &sample{about: p.About(), files: map[string][]byte{}, items: map[int][]machine.Item{}}
	for _, f := range p.About().State.Files {
		r, err := p.NextFile(f)
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(io.LimitReader(r, f.Size+1))
		if err != nil {
			return nil, err
		}
		if int64(len(b)) != f.Size {
			return nil, errors.New("a file has another size")
		}
		if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			return nil, errors.Join(errors.New("a file has no end"), err)
		}
		s.files[f.Name] = b
	}
	err := p.History(context.Background(), func(t machine.Told) error {
		s.history = append(s.history, t.Instruction)
		return t.Items(func(it machine.Item) error {
			s.items[t.Seq] = append(s.items[t.Seq], it)
			return nil
		})
	})
	return s, err
}

func (s *sample) compare(t *testing.T, got *sample) {
	t.Helper()
	if !reflect.DeepEqual(got.about, s.about) {
		t.Errorf("it is\n%+v and not\n%+v", got.about, s.about)
	}
	for _, f := range s.about.State.Files {
		if !bytes.Equal(got.files[f.Name], s.files[f.Name]) {
			t.Errorf("%s is another", f.Name)
		}
	}
	// Nothing and nothing at all are the same.
	if a, b := fmt.Sprintf("%+v", plainly(got)), fmt.Sprintf("%+v", plainly(s)); a != b {
		t.Errorf("its history is\n%s and not\n%s", a, b)
	}
}

func plainly(s *sample) (lines []string) {
	for _, in := range s.history {
		value := "none"
		if in.Value != nil {
			value = *in.Value
		}
		times := []*time.Time{&in.QueuedAt, in.StartedAt, in.EndedAt}
		in.Value, in.StartedAt, in.EndedAt = nil, nil, nil
		line := fmt.Sprintf("%+v %q", in, value)
		for _, at := range times {
			if at != nil {
				line += at.String()
			}
		}
		lines = append(lines, line, fmt.Sprintf("%+v", s.items[in.Seq]))
	}
	return lines
}

func TestAFileHoldsAMachine(t *testing.T) {
	s := newSample()
	got, head, err := opened(t, s.file(t, testKey(1)))
	if err != nil {
		t.Fatal(err)
	}
	s.compare(t, got)
	if head.Program != "0.1.7" || !head.MadeAt.Equal(began) || !head.Maker.Equal(testKey(1).Public()) {
		t.Errorf("%+v", head)
	}
}

// Zeros take no room, and pieces of any length come back.
func TestLargeFiles(t *testing.T) {
	s := newSample()
	s.files["pages.img"] = make([]byte, 64<<20+5)
	copy(s.files["pages.img"][30<<20-3:], "somewhere")
	s.about.State.Files[1].Size = int64(len(s.files["pages.img"]))
	content := s.file(t, testKey(1))
	if len(content) > 8<<10 {
		t.Errorf("64 MB of zeros take %d bytes", len(content))
	}
	got, _, err := opened(t, content)
	if err != nil {
		t.Fatal(err)
	}
	s.compare(t, got)
}

// A changed byte anywhere, a missing one and one too many are all refused before anything is
// unpacked.
func TestWhatIsChangedIsRefused(t *testing.T) {
	content := newSample().file(t, testKey(1))
	dir := t.TempDir()
	refused := func(what string, content []byte) {
		t.Helper()
		p, err := receive(t.Context(), bytes.NewReader(content), dir, anyone, room)
		if err == nil {
			p.Close()
			t.Fatalf("%s is taken in", what)
		}
		if sentence := (*machine.Error)(nil); !errors.As(err, &sentence) {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for i := range content {
		changed := bytes.Clone(content)
		changed[i] ^= 1 << (i % 8)
		refused(fmt.Sprintf("one with another byte %d of %d", i, len(content)), changed)
		refused(fmt.Sprintf("one of %d of %d bytes", i, len(content)), content[:i])
	}
	refused("one with more", append(bytes.Clone(content), 0))
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A head goes with no other content, and a signature with no other maker.
func TestPartsAreNotExchanged(t *testing.T) {
	one := newSample().file(t, testKey(1))
	other := newSample()
	other.files["checkpoint.img"][0], other.about.Title = 'K', "Salty"
	two := other.file(t, testKey(1))
	if len(one) != len(two) {
		t.Fatalf("%d and %d bytes", len(one), len(two))
	}
	_, head, err := readHead(bytes.NewReader(one))
	if err != nil {
		t.Fatal(err)
	}
	whose := newSample().file(t, testKey(2))
	for what, mixed := range map[string][]byte{
		"another content": append(bytes.Clone(one[:len(head)]), two[len(head):]...),
		"another maker":   append(bytes.Clone(whose[:len(head)]), one[len(head):]...),
		"another's end":   append(bytes.Clone(one[:len(one)-64]), whose[len(whose)-64:]...),
	} {
		if _, _, err := opened(t, mixed); err == nil {
			t.Error(what)
		}
	}
}

// signed is a file of a maker who signs anything.
func signed(t testing.TB, about machine.Foreign, body []byte) []byte {
	t.Helper()
	key := testKey(3)
	var b bytes.Buffer
	to := newTally(&b)
	h := Head{About: about, Program: "x", MadeAt: began, Maker: key.Public().(ed25519.PublicKey)}
	if err := h.write(to, key); err != nil {
		t.Fatal(err)
	}
	_, _ = to.Write(body)
	if err := to.sign(signedWhole, key); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func le(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// Who signs may mean harm.
func TestHostileMakers(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := encoder.EncodeAll(make([]byte, 512<<20), nil)
	empty := newSample().about
	empty.State.Files = nil
	stream := func(b []byte) []byte { return join([]byte{piecePlain}, le(uint32(len(b))), b, []byte{pieceEnd}) }
	entry := func(kind byte, head string, content []byte) []byte {
		return stream(join([]byte{kind}, le(uint32(len(head))), le(uint32(len(content))), []byte(head), content))
	}
	for what, body := range map[string][]byte{
		"nothing":                      {},
		"no end":                       join([]byte{piecePlain}, le(1), []byte{1}),
		"an unknown piece":             {9, 1, 0, 0, 0},
		"an empty piece":               join([]byte{piecePlain}, le(0), []byte{pieceEnd}),
		"an endless piece":             join([]byte{pieceZeros}, le(1<<31), []byte{pieceEnd}),
		"a piece that says too much":   join([]byte{piecePlain}, le(1<<20), []byte("short")),
		"a bomb":                       join([]byte{pieceZstd}, le(1<<20), le(uint32(len(bomb))), bomb, []byte{pieceEnd}),
		"no zstd":                      join([]byte{pieceZstd}, le(10), le(4), []byte("oops"), []byte{pieceEnd}),
		"zeros for a history":          join([]byte{pieceZeros}, le(1<<20), []byte{pieceEnd}),
		"an entry of no kind":          entry(7, "{}", nil),
		"an item of nothing":           entry(entryItem, "{}", nil),
		"no JSON":                      entry(entryInstruction, "{", nil),
		"lengths beyond the content":   entry(entryInstruction, `{"code":10}`, []byte("x")),
		"a negative length":            entry(entryInstruction, `{"code":-1}`, nil),
		"content that nobody mentions": entry(entryInstruction, `{"code":1}`, []byte("xy")),
		"forms that do not fit":        entry(entryInstruction, `{"forms":[{"mime":"a","size":9223372036854775807}]}`, []byte("x")),
		"an entry that says too much":  stream(join([]byte{entryInstruction}, le(2), le(1<<31), []byte("{}"))),
		"an entry that ends":           stream(join([]byte{entryInstruction}, le(200<<10), le(0), []byte("{}"))),
		"more after the end":           join([]byte{pieceEnd}, []byte("more")),
	} {
		t.Run(what, func(t *testing.T) {
			if _, _, err := opened(t, signed(t, empty, body)); err == nil {
				t.Error("it was read")
			} else if sentence := (*machine.Error)(nil); !errors.As(err, &sentence) {
				t.Errorf("no sentence: %v", err)
			}
		})
	}
	if s, _, err := opened(t, signed(t, empty, []byte{pieceEnd})); err != nil || len(s.history) != 0 {
		t.Errorf("an empty history: %v", err)
	}
}

// A head may say more than there is to say: what a machine may reach and which folder is shared is
// for the person here to decide.
func TestAHeadSaysNoMoreThanItMay(t *testing.T) {
	key := testKey(3)
	plain, err := json.Marshal((&Head{About: newSample().about}).document())
	if err != nil {
		t.Fatal(err)
	}
	const smuggled = `"network":{"mode":"public","hosts":["127.0.0.1"]},"shared":{"path":"/","writable":true},"engine":"docker","id":"x"`
	text := bytes.Replace(plain, []byte(`"machine":{`), []byte(smuggled+`,"machine":{`+smuggled+`,`), 1)
	if bytes.Equal(text, plain) {
		t.Fatalf("%s has no machine", plain)
	}
	var b bytes.Buffer
	to := newTally(&b)
	_, _ = to.Write(join([]byte(magic), []byte{Version}, le(uint32(len(text))), text, key.Public().(ed25519.PublicKey)))
	if err := to.sign(signedHead, key); err != nil {
		t.Fatal(err)
	}
	if head, err := ReadHead(&b); err != nil || !reflect.DeepEqual(head.About, newSample().about) {
		t.Errorf("it says %+v, %v", head.About, err)
	}
}

func TestHeads(t *testing.T) {
	content := newSample().file(t, testKey(1))
	later := bytes.Clone(content)
	later[7] = 2
	for what, c := range map[string]struct {
		content []byte
		says    string
	}{
		"nothing":         {nil, "as its maker has saved it"},
		"something else":  {bytes.Repeat([]byte("PK\x03\x04"), 100), "no machine that ForeverVM has saved"},
		"a later version": {later, "another version (2)"},
		"an endless head": {join(content[:8], le(1<<30)), "too long"},
		"4 GB of a head":  {join(content[:8], le(1<<32-1)), "too long"},
		"no head":         {join(content[:8], le(0), content[12:]), "not as its maker has saved it"},
	} {
		if _, err := ReadHead(bytes.NewReader(c.content)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := ReadHead(bytes.NewReader(content[:min(MaxHead, len(content))])); err != nil {
		t.Error(err)
	}
	s := newSample()
	s.about.Title = strings.Repeat("ä", maxHead)
	if err := Write(t.Context(), io.Discard, s.about, s, testKey(1), "x", began); err == nil {
		t.Error("a head that nobody would read was written")
	}
}

var update = flag.Bool("update", false, "write testdata of the present version")

// Files of every version that was released are readable forever.
func TestEveryVersionIsReadable(t *testing.T) {
	if *update {
		if err := os.WriteFile(filepath.Join("testdata", fmt.Sprintf("v%d%s", Version, Ending)), newSample().file(t, testKey(1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for version := 1; version <= Version; version++ {
		content, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("v%d%s", version, Ending)))
		if err != nil {
			t.Fatal(err)
		}
		got, head, err := opened(t, content)
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		newSample().compare(t, got)
		if !head.Maker.Equal(testKey(1).Public()) {
			t.Error("another maker")
		}
	}
}

func newDesk(t *testing.T) (*Desk, home.Dirs) {
	t.Helper()
	dirs, err := home.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := dirs.Make(); err != nil {
		t.Fatal(err)
	}
	d, err := Open(dirs, "0.1.7", func() (int64, error) { return 100 << 30, nil })
	if err != nil {
		t.Fatal(err)
	}
	return d, dirs
}

func TestMakers(t *testing.T) {
	d, dirs := newDesk(t)
	receive := func(content []byte, trust Trust) error {
		p, err := d.Receive(t.Context(), bytes.NewReader(content), trust, func(machine.Foreign) error { return nil })
		if err != nil {
			return err
		}
		defer p.Close()
		return d.Remember(p, trust)
	}
	standing := func(key ed25519.PublicKey) string {
		s, name, err := d.Makers.Standing(key)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(s) + " " + name)
	}
	anna := testKey(4).Public().(ed25519.PublicKey)
	content := newSample().file(t, testKey(4))
	print := Fingerprint(anna)
	if len(print) != 39 || strings.Count(print, "-") != 7 {
		t.Errorf("a fingerprint is %q", print)
	}
	for _, trust := range []Trust{{}, {Name: "Anna"}, {Fingerprint: Fingerprint(testKey(5).Public().(ed25519.PublicKey))}} {
		if err := receive(content, trust); !errors.Is(err, ErrUnknownMaker) || !strings.Contains(err.Error(), print) {
			t.Errorf("%+v: %v", trust, err)
		}
	}
	if got := standing(anna); got != "unknown" {
		t.Error(got)
	}
	damaged := bytes.Clone(content)
	damaged[len(damaged)-70] ^= 1
	if err := receive(damaged, Trust{Fingerprint: print}); err == nil || standing(anna) != "unknown" {
		t.Error("who signs nothing is known now")
	}
	if err := receive(content, Trust{Fingerprint: print, Name: "An\nna"}); !errors.Is(err, machine.ErrInvalid) {
		t.Error(err)
	}
	if err := receive(content, Trust{Fingerprint: print, Name: "Anna"}); err != nil {
		t.Fatal(err)
	}
	if got := standing(anna); got != "accepted Anna" {
		t.Error(got)
	}
	if err := receive(content, Trust{}); err != nil {
		t.Error(err)
	}
	own, err := d.Makers.key(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, err := (&Makers{dirs: dirs}).key(t.Context())
	if err != nil || !again.Equal(own) {
		t.Error("the key is made again")
	}
	if got := standing(own.Public().(ed25519.PublicKey)); got != "own" {
		t.Error(got)
	}
	if info, err := os.Stat(dirs.MakerKeyFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := d.Makers.Forget(print); err != nil || standing(anna) != "unknown" {
		t.Error(err, standing(anna))
	}
	if err := d.Makers.Forget(print); !errors.Is(err, machine.ErrNotFound) {
		t.Error(err)
	}
}

// What a daemon that was killed has left is removed by the next; and a file does not take the last
// of the disk.
func TestRoom(t *testing.T) {
	_, dirs := newDesk(t)
	left := filepath.Join(dirs.ParcelsDir(), "left.fvm")
	if err := os.WriteFile(left, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Open(dirs, "0.1.7", func() (int64, error) { return 1 << 20, nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Error("it is still there")
	}
	own, err := d.Makers.key(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Receive(t.Context(), bytes.NewReader(newSample().file(t, own)), Trust{}, func(machine.Foreign) error { return nil })
	if !errors.Is(err, machine.ErrDiskFull) {
		t.Error(err)
	}
	refused := errors.New("refused")
	if _, err := d.Receive(t.Context(), bytes.NewReader(newSample().file(t, own)), Trust{}, func(machine.Foreign) error { return refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	if all, _ := os.ReadDir(dirs.ParcelsDir()); len(all) != 0 {
		t.Errorf("left are %v", all)
	}
}
