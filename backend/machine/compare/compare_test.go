package compare

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

func TestWhatWasSeenIsCompared(t *testing.T) {
	one, other := strings.Repeat("1", digestLength), strings.Repeat("2", digestLength)
	at := time.Unix(1, 0)
	before, after := 2.0, 4.0
	file := func(size int64, after time.Duration) machine.FileEntry {
		return machine.FileEntry{Kind: machine.FilePlain, Size: size, Modified: at.Add(after)}
	}
	a := Seen{
		variables: map[string]machine.Variable{"same": {Type: "int"}, "hidden": {Type: "list"}, "shape": {Shape: "1"}, "blurred": {Type: "X"}, "hurried": {Type: "X", Shape: "1", Size: 8, Preview: "a"}, "gone": {}, "z": {}},
		files:     map[string]machine.FileEntry{"same": file(1, 0), "touched": file(1, 0), "written": file(1, 0), "perhaps": file(1, 0), "size": file(1, 0), "kind": file(1, 0), "gone": file(1, 0), "far/in": file(1, 0)},
		digests: digests{
			Variables: map[string]string{"same": one, "hidden": one, "shape": one, "hurried": one},
			Files:     map[string]string{"touched": one, "written": one, "size": one},
			Columns:   map[string][]column{"hidden": {{"alike", one, &before}, {"doubled", one, &before}, {"said", one, nil}, {"gone", one, nil}}},
		},
	}
	b := Seen{
		last:      "x", // z may be there
		variables: map[string]machine.Variable{"same": {Type: "int"}, "hidden": {Type: "list"}, "shape": {Shape: "2"}, "blurred": {Type: "X"}, "hurried": {Type: "X", Size: -1}, "new": {}},
		files:     map[string]machine.FileEntry{"same": file(1, 0), "touched": file(1, 1), "written": file(1, 1), "perhaps": file(1, 1), "size": file(2, 0), "kind": {Kind: machine.FileFolder}, "new": {Kind: machine.FileLink}},
		digests: digests{
			Variables: map[string]string{"same": one, "hidden": other, "shape": one, "hurried": one},
			Files:     map[string]string{"touched": one, "written": other, "size": one},
			Columns:   map[string][]column{"hidden": {{"new", one, nil}, {"alike", one, &before}, {"doubled", other, &after}, {"said", other, nil}}},
		},
		unseen: []string{"far"},
	}
	variables, unsure := Variables(a, b)
	var got []string
	for _, v := range variables {
		got = append(got, fmt.Sprint(v.Name, " ", v.Change, " ", v.Before != nil, " ", v.After != nil))
	}
	if want := []string{"gone removed true false", "hidden changed true true", "new added false true", "shape changed true true"}; !slices.Equal(got, want) || !slices.Equal(unsure, []string{"blurred"}) {
		t.Errorf("variables %q, unsure %q", got, unsure)
	}
	if i := slices.IndexFunc(variables, func(v machine.VariableChange) bool { return v.Name == "hidden" }); !reflect.DeepEqual(variables[i].Columns, []machine.ColumnChange{{Name: "doubled", Before: &before, After: &after}, {Name: "said"}}) {
		t.Errorf("columns %+v", variables[i].Columns)
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
	f.Add("\nMARK{\"columns\": {\"t\": [[\"n\", \"" + strings.Repeat("a", 32) + "\", 1.5], [\"m\", 1, null], 3]}}")
	f.Fuzz(func(t *testing.T, text string) {
		told := readDigests([]byte(text), "MARK")
		for _, columns := range told.Columns {
			for _, c := range columns {
				if !isDigest(c.digest) || len(c.name) > maxColumnName || len(columns) > maxColumns {
					t.Errorf("%d columns, one of them %+v", len(columns), c)
				}
			}
		}
		for _, all := range []map[string]string{told.Variables, told.Files} {
			for name, digest := range all {
				if len(digest) != digestLength || strings.Trim(digest, "0123456789abcdefABCDEF") != "" {
					t.Errorf("%q has the digest %q", name, digest)
				}
			}
		}
	})
}
