package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

func TestWhatWasSeenIsCompared(t *testing.T) {
	one, other := strings.Repeat("1", digestLength), strings.Repeat("2", digestLength)
	at := time.Unix(1, 0)
	file := func(size int64, after time.Duration) machine.FileEntry {
		return machine.FileEntry{Kind: machine.FilePlain, Size: size, Modified: at.Add(after)}
	}
	a := Seen{
		variables:       map[string]machine.Variable{"same": {Type: "int"}, "hidden": {Type: "list"}, "shape": {Shape: "1"}, "blurred": {Type: "X"}, "hurried": {Type: "X", Shape: "1", Size: 8, Preview: "a"}, "gone": {}, "z": {}},
		variableDigests: map[string]string{"same": one, "hidden": one, "shape": one, "hurried": one},
		files:           map[string]machine.FileEntry{"same": file(1, 0), "touched": file(1, 0), "written": file(1, 0), "perhaps": file(1, 0), "size": file(1, 0), "kind": file(1, 0), "gone": file(1, 0), "far/in": file(1, 0)},
		fileDigests:     map[string]string{"touched": one, "written": one, "size": one},
	}
	b := Seen{
		last:            "x", // z may be there
		variables:       map[string]machine.Variable{"same": {Type: "int"}, "hidden": {Type: "list"}, "shape": {Shape: "2"}, "blurred": {Type: "X"}, "hurried": {Type: "X", Size: -1}, "new": {}},
		variableDigests: map[string]string{"same": one, "hidden": other, "shape": one, "hurried": one},
		files:           map[string]machine.FileEntry{"same": file(1, 0), "touched": file(1, 1), "written": file(1, 1), "perhaps": file(1, 1), "size": file(2, 0), "kind": {Kind: machine.FileFolder}, "new": {Kind: machine.FileLink}},
		fileDigests:     map[string]string{"touched": one, "written": other, "size": one},
		unseen:          []string{"far"},
	}
	variables, unsure := Variables(a, b)
	var got []string
	for _, v := range variables {
		got = append(got, fmt.Sprint(v.Name, " ", v.Change, " ", v.Before != nil, " ", v.After != nil))
	}
	if want := []string{"gone removed true false", "hidden changed true true", "new added false true", "shape changed true true"}; !slices.Equal(got, want) || !slices.Equal(unsure, []string{"blurred"}) {
		t.Errorf("variables %q, unsure %q", got, unsure)
	}
	got = nil
	for _, f := range Files(a, b) {
		got = append(got, fmt.Sprint(f.Path, " ", f.Change, " ", f.Unsure))
	}
	if want := []string{"gone removed false", "kind changed false", "new added false", "perhaps changed true", "size changed false", "written changed false"}; !slices.Equal(got, want) {
		t.Errorf("files %q", got)
	}
}

// Whatever a machine prints, digests are digests.
func FuzzDigests(f *testing.F) {
	f.Add("noise\nMARK{\"variables\": {\"x\": \"" + strings.Repeat("a", 32) + "\"}, \"files\": {\"f\": 1}}\n")
	f.Add("\nMARK{\"variables\": {\"x\": \"" + strings.Repeat("a", 32) + "\", \"y\": \"<b>\"}}")
	f.Add("\nMARKnull\n")
	f.Fuzz(func(t *testing.T, text string) {
		variables, files := readDigests([]byte(text), "MARK")
		for _, all := range []map[string]string{variables, files} {
			for name, digest := range all {
				if len(digest) != digestLength || strings.Trim(digest, "0123456789abcdefABCDEF") != "" {
					t.Errorf("%q has the digest %q", name, digest)
				}
			}
		}
	})
}
