// Package compare looks at what a machine in memory holds, and tells in what two such looks differ.
// All that a machine says of itself may be made up: it is bounded, and only compared.
package compare

import (
	"maps"
	"slices"

	"github.com/forevervm/desktop/backend/machine"
)

// Variables compares variables by name. unsure are those that may have changed.
func Variables(a, b Seen) (changes []machine.VariableChange, unsure []string) {
	for _, name := range names(a.variables, b.variables) {
		before, was := a.variables[name]
		after, is := b.variables[name]
		switch {
		case !a.sawVariable(name) || !b.sawVariable(name):
		case !was:
			changes = append(changes, machine.VariableChange{Name: name, Change: machine.ChangeAdded, After: &after})
		case !is:
			changes = append(changes, machine.VariableChange{Name: name, Change: machine.ChangeRemoved, Before: &before})
		default:
			one, other := a.digests.Variables[name], b.digests.Variables[name]
			known := one != "" && other != ""
			alike := after
			if known && one == other { // what a list keeps in reserve is none of its value
				alike.Size = before.Size
			}
			switch {
			case before.Differs(alike) || known && one != other:
				changes = append(changes, machine.VariableChange{
					Name: name, Change: machine.ChangeChanged, Before: &before, After: &after,
					Columns: columns(a.digests.Columns[name], b.digests.Columns[name]),
				})
			case !known:
				unsure = append(unsure, name)
			}
		}
	}
	return changes, unsure
}

// columns are those that both tables have and whose values differ.
func columns(a, b []column) (changes []machine.ColumnChange) {
	for _, before := range a {
		i := slices.IndexFunc(b, func(c column) bool { return c.name == before.name })
		if i >= 0 && b[i].digest != before.digest {
			changes = append(changes, machine.ColumnChange{Name: before.name, Before: before.mean, After: b[i].mean})
		}
	}
	return changes
}

// Files compares files by path.
func Files(a, b Seen) (changes []machine.FileChange) {
	for _, where := range names(a.files, b.files) {
		before, was := a.files[where]
		after, is := b.files[where]
		switch {
		case !a.sawFile(where) || !b.sawFile(where):
		case !was:
			changes = append(changes, machine.FileChange{Path: where, Change: machine.ChangeAdded, After: &after})
		case !is:
			changes = append(changes, machine.FileChange{Path: where, Change: machine.ChangeRemoved, Before: &before})
		case before.Kind != after.Kind:
			changes = append(changes, machine.FileChange{Path: where, Change: machine.ChangeChanged, Before: &before, After: &after})
		case before.Kind != machine.FileFolder:
			one, other := a.digests.Files[where], b.digests.Files[where]
			known := one != "" && other != ""
			if before.Size != after.Size || known && one != other || !known && !before.Modified.Equal(after.Modified) {
				changes = append(changes, machine.FileChange{
					Path: where, Change: machine.ChangeChanged, Before: &before, After: &after, Unsure: !known && before.Size == after.Size,
				})
			}
		}
	}
	return changes
}

func names[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
