package output

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/forevervm/desktop/backend/machine"
)

func overflowItem(index int) machine.Item {
	at := time.Unix(0, int64(index)).UTC()
	switch index % 3 {
	case 0:
		return machine.Item{Index: index, Kind: machine.ItemOutput, At: at, Stream: "stdout", Text: []byte("text\x00\xff"), Background: index%2 == 0}
	case 1:
		return machine.Item{Index: index, Kind: machine.ItemClear, At: at, Wait: true}
	}
	return machine.Item{Index: index, Kind: machine.ItemDisplay, At: at, DisplayID: "d", Update: true, Representations: []machine.Representation{
		{MIME: "image/png", Data: []byte{1, 2, 3}}, {MIME: "text/plain", Data: []byte("x")},
	}}
}

// fill writes items 10 to 19 and returns the length that counts; behind it lies what a crash left.
func fill(t *testing.T, path string) int64 {
	t.Helper()
	var records []byte
	for i := 10; i < 20; i++ {
		var err error
		if records, err = AppendRecord(records, overflowItem(i)); err != nil {
			t.Fatal(err)
		}
	}
	half := int64(len(records) / 2)
	for _, part := range []struct {
		offset int64
		data   []byte
	}{{0, records[:half]}, {half, []byte("half a record that was never counted, and then overwritten; more of it than comes")}, {half, records[half:]}} {
		if err := WriteFile(path, part.offset, part.data); err != nil {
			t.Fatal(err)
		}
	}
	return int64(len(records))
}

func readFrom(t *testing.T, path string, length int64, from int) []machine.Item {
	t.Helper()
	var items []machine.Item
	if err := ReadFile(path, length, from, func(it machine.Item, _ int64) bool { items = append(items, it); return true }); err != nil {
		t.Fatal(err)
	}
	return items
}

func TestOverflowFileGivesBackWhatWasAppended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m", "0.out")
	length := fill(t, path)
	for from := range 25 {
		got := readFrom(t, path, length, from)
		var want []machine.Item
		for i := max(10, from); i < 20; i++ {
			want = append(want, overflowItem(i))
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("from %d:\n%+v, want\n%+v", from, got, want)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
}

func TestForkGetsOverflowUpToItsMark(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "a", "0.out"), filepath.Join(dir, "b", "0.out")
	length := fill(t, from)
	kept, err := CopyFile(from, to, length, 15)
	if err != nil {
		t.Fatal(err)
	}
	if got := readFrom(t, to, kept, 0); len(got) != 5 || got[4].Index != 14 {
		t.Fatalf("%+v", got)
	}
}

// TestDamagedOverflowFileIsAnError gives any bytes to the reader: it may fail, but not crash or
// grow.
func TestDamagedOverflowFileIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m", "0.out")
	length := fill(t, path)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		bad := append([]byte(nil), whole...)
		for range rapid.IntRange(1, 8).Draw(rt, "n") {
			bad[rapid.IntRange(0, int(length)-1).Draw(rt, "at")] = rapid.Byte().Draw(rt, "to")
		}
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			rt.Fatal(err)
		}
		_ = ReadFile(path, length, 0, func(machine.Item, int64) bool { return true })
	})
}
