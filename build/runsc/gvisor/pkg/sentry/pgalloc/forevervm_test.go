package pgalloc

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/context"
	"gvisor.dev/gvisor/pkg/fd"
	"gvisor.dev/gvisor/pkg/hostarch"
	"gvisor.dev/gvisor/pkg/memutil"
	"gvisor.dev/gvisor/pkg/sentry/memmap"
	"gvisor.dev/gvisor/pkg/sentry/state/stateio"
)

const page = uint64(hostarch.PageSize)

func newMemory(t *testing.T) *MemoryFile {
	t.Helper()
	file, err := memutil.CreateMemFD("memory", 0)
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewMemoryFile(os.NewFile(uintptr(file), "memory"), MemoryFileOpts{DisableMemoryAccounting: true, DisableIMAWorkAround: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Destroy)
	return f
}

func allocate(t *testing.T, f *MemoryFile, pages uint64) memmap.FileRange {
	t.Helper()
	fr, err := f.Allocate(pages*page, AllocOpts{})
	if err != nil {
		t.Fatal(err)
	}
	return fr
}

// fill writes to each page of fr what tells it from others.
func fill(f *MemoryFile, fr memmap.FileRange) {
	f.forEachMappingSlice(fr, func(b []byte) {
		for at := uint64(0); at < uint64(len(b)); at += page {
			copy(b[at:at+page], content((fr.Start+at)/page))
		}
	})
}

func content(n uint64) []byte {
	return bytes.Repeat(binary.LittleEndian.AppendUint64(nil, n+1), int(page/8))
}

// saved is what the program saves of one memory, with the sums that the daemon adds.
type saved struct {
	metadata    []byte
	pages, sums string
}

func save(t *testing.T, f *MemoryFile) saved {
	t.Helper()
	c := saved{pages: filepath.Join(t.TempDir(), "pages.img"), sums: filepath.Join(t.TempDir(), "pages.sum")}
	file, err := unix.Open(c.pages, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	to, err := StartAsyncPagesFileSave(stateio.NewPagesFileFDWriterDefault(int32(file)), func(err error) { ended <- err })
	if err != nil {
		t.Fatal(err)
	}
	var metadata bytes.Buffer
	if err := f.SaveTo(context.Background(), &metadata, &SaveOpts{PagesFile: to}); err != nil {
		t.Fatal(err)
	}
	to.MemoryFilesDone()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	c.metadata = metadata.Bytes()
	pages, err := os.ReadFile(c.pages)
	if err != nil {
		t.Fatal(err)
	}
	var sums []byte
	for ; len(pages) > 0; pages = pages[page:] {
		sums = binary.LittleEndian.AppendUint32(sums, crc32.Checksum(pages[:page], crc32.MakeTable(crc32.Castagnoli)))
	}
	if err := os.WriteFile(c.sums, sums, 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

func load(t *testing.T, c saved) *MemoryFile {
	t.Helper()
	pages, err := unix.Open(c.pages, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := unix.Open(c.sums, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	reader := stateio.NewPagesWriter(int32(pages), func(int) (*fd.FD, error) { return fd.New(sums), nil })
	from, err := StartAsyncPagesFileLoad(reader, func(error) {}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := newMemory(t)
	if err := f.LoadFrom(context.Background(), bytes.NewReader(c.metadata), &LoadOpts{PagesFile: from}); err != nil {
		t.Fatal(err)
	}
	from.MemoryFilesDone()
	f.needed.ahead.Wait()
	return f
}

// use has fr read, and compares it with what fill wrote.
func use(t *testing.T, f *MemoryFile, fr memmap.FileRange) {
	t.Helper()
	if err := f.AwaitLoad(fr); err != nil {
		t.Fatal(err)
	}
	at := fr.Start
	f.forEachMappingSlice(fr, func(b []byte) {
		for ; len(b) > 0; b, at = b[page:], at+page {
			if !bytes.Equal(b[:page], content(at/page)) {
				t.Fatalf("the page at %#x is another", at)
			}
		}
	})
}

func unread(f *MemoryFile) uint64 {
	if loading := f.asyncPageLoad.Load(); loading != nil {
		return loading.unread.Load()
	}
	return 0
}

// inMemory is how much of a memory the system has pages for, in bytes.
func inMemory(t *testing.T, f *MemoryFile) uint64 {
	t.Helper()
	var stat unix.Stat_t
	if err := unix.Fstat(f.FD(), &stat); err != nil {
		t.Fatal(err)
	}
	return uint64(stat.Blocks) * 512
}

// The patch "unread memory": only what is used is read, also when it is saved again; what was never
// read is in the next checkpoint all the same; what was used is read ahead at the next wake.
func TestOnlyWhatIsUsedIsRead(t *testing.T) {
	const all, used = 4096, 16 // pages: 16 MiB, 64 KiB
	f := newMemory(t)
	fr := allocate(t, f, all)
	fill(f, fr)
	woken := load(t, save(t, f))
	if got := unread(woken); got != all*page {
		t.Errorf("before anything is used, %d bytes of %d are unread", got, all*page)
	}
	for n := uint64(1); n <= 8; n++ {
		part := memmap.FileRange{Start: fr.End - n*all/8*page, End: fr.End - n*all/8*page + used*page}
		use(t, woken, part)
		if got, want := unread(woken), (all-n*used)*page; got != want {
			t.Fatalf("%d bytes are unread, not %d", got, want)
		}
	}
	again := save(t, woken)
	if got := inMemory(t, woken); got != 8*used*page {
		t.Errorf("after it is saved, %d bytes are in memory, not %d", got, 8*used*page)
	}
	last := load(t, again)
	if got, want := unread(last), (all-8*used)*page; got != want {
		t.Errorf("at the next wake %d bytes are unread, not %d", got, want)
	}
	use(t, last, fr)
	if got := unread(last); got != 0 {
		t.Errorf("%d bytes are unread when all was used", got)
	}
}

// Of a memory that is partly read, what borders on a part and was read is found, and no more.
func TestWhatIsReadAround(t *testing.T) {
	const all = 256 // pages
	f := newMemory(t)
	fr := allocate(t, f, all)
	fill(f, fr)
	woken := load(t, save(t, f))
	pages := func(from, to uint64) memmap.FileRange {
		return memmap.FileRange{Start: fr.Start + from*page, End: fr.Start + to*page}
	}
	use(t, woken, pages(10, 20))
	use(t, woken, pages(24, 30))
	for _, c := range []struct{ part, within, want memmap.FileRange }{
		{pages(20, 24), pages(0, all), pages(10, 30)}, // what is unread lies between what was read
		{pages(20, 24), pages(16, 28), pages(16, 28)},
		{pages(20, 22), pages(0, all), pages(10, 22)},
		{pages(12, 13), pages(0, all), pages(10, 20)},
		{pages(40, 44), pages(32, 64), pages(40, 44)},
		{pages(0, 4), pages(0, all), pages(0, 4)},
	} {
		if got := woken.LoadedAround(c.part, c.within); got != c.want {
			t.Errorf("around %v, within %v, it is %v, not %v", c.part, c.within, got, c.want)
		}
	}
	use(t, woken, fr)
	if got := woken.LoadedAround(pages(4, 5), pages(0, 64)); got != pages(0, 64) {
		t.Errorf("of what was read wholly, it is %v", got)
	}
}

// What is mapped beside what is used counts as needed first only if it did before.
func TestMappingNotesOnlyWhatIsUsed(t *testing.T) {
	const unit = NeededUnit / uint64(hostarch.PageSize) // pages
	f := newMemory(t)
	fr := allocate(t, f, 64*unit)
	fill(f, fr)
	units := func(from, to uint64) memmap.FileRange {
		return memmap.FileRange{Start: fr.Start + from*NeededUnit, End: fr.Start + to*NeededUnit}
	}
	woken := load(t, save(t, f))
	use(t, woken, units(10, 12))
	use(t, woken, units(20, 21))
	again := load(t, save(t, woken))
	again.NoteMapped(units(11, 12), units(0, 20))
	want := []memmap.FileRange{units(10, 12)}
	if got := load(t, save(t, again)).needed.ranges(); !slices.Equal(got, want) {
		t.Errorf("needed first are %v, not %v", got, want)
	}
}

// The patch "holes": to look at memory that nobody has written to would have the system make it, one
// fault a page.
func TestSavingMakesNoUnusedMemory(t *testing.T) {
	const all = 16384 // pages: 64 MiB
	f := newMemory(t)
	fr := allocate(t, f, all)
	written := memmap.FileRange{Start: fr.Start + all/2*page, End: fr.Start + all/2*page + page}
	fill(f, written)
	faults := func() int64 {
		var usage unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
			t.Fatal(err)
		}
		return usage.Minflt
	}
	before := faults()
	c := save(t, f)
	if n := faults() - before; n > all/2 {
		t.Errorf("saving one page of %d took %d page faults", all, n)
	}
	if info, err := os.Stat(c.pages); err != nil || info.Size() != int64(page) {
		t.Errorf("saved is %v, %v", info, err)
	}
	use(t, load(t, c), written)
}
