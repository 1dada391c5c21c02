package machine

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	defaultListLimit = 100
	maxListLimit     = 1000
)

// Filter chooses machines; zero fields do not filter. Newest first.
type Filter struct {
	States        []State
	Tags          map[string]string // all must match
	Engine        string
	Owner         *string // "" for the machines of the daemon's own user
	CreatedAfter  *time.Time
	CreatedBefore *time.Time
	Text          string // in name, titles, tags
	Deleted       bool   // the bin instead of the others
	Cursor        string
	Limit         int // default 100, at most 1000; -1 for all
}

// Matches says whether the filter chooses a machine.
func (f *Filter) Matches(m Machine) bool {
	if f.Deleted != (m.State == Deleted) {
		return false
	}
	if f.Owner != nil && *f.Owner != m.Owner {
		return false
	}
	if len(f.States) > 0 && !slices.Contains(f.States, m.State) || f.Engine != "" && f.Engine != m.Engine {
		return false
	}
	if f.CreatedAfter != nil && !m.CreatedAt.After(*f.CreatedAfter) || f.CreatedBefore != nil && !m.CreatedAt.Before(*f.CreatedBefore) {
		return false
	}
	for k, v := range f.Tags {
		if has, ok := m.Tags[k]; !ok || has != v {
			return false
		}
	}
	if f.Text == "" {
		return true
	}
	hay := []string{m.Name, m.Title, m.DerivedTitle}
	for k, v := range m.Tags {
		hay = append(hay, k, v)
	}
	for _, word := range strings.Fields(strings.ToLower(f.Text)) {
		if !slices.ContainsFunc(hay, func(h string) bool { return strings.Contains(strings.ToLower(h), word) }) {
			return false
		}
	}
	return true
}

// Choose returns the page of these machines that a filter asks for, newest first. all is changed.
func Choose(all []Machine, f Filter) (Page[Machine], error) {
	all = slices.DeleteFunc(all, func(m Machine) bool { return !f.Matches(m) })
	slices.SortFunc(all, func(a, b Machine) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	if f.Cursor != "" {
		at, id, err := parseCursor(f.Cursor)
		if err != nil {
			return Page[Machine]{}, err
		}
		all = slices.DeleteFunc(all, func(m Machine) bool {
			n := m.CreatedAt.UnixNano()
			return n > at || n == at && m.ID <= id
		})
	}
	limit := cmp.Or(f.Limit, defaultListLimit)
	if limit < 0 {
		limit = len(all)
	} else {
		limit = min(limit, maxListLimit)
	}
	page := Page[Machine]{Items: all}
	if limit < len(all) {
		page.Items = all[:limit]
		last := all[limit-1]
		page.Next = fmt.Sprintf("%d.%s", last.CreatedAt.UnixNano(), last.ID)
	}
	return page, nil
}

func parseCursor(cursor string) (int64, ID, error) {
	at, id, ok := strings.Cut(cursor, ".")
	n, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil {
		return 0, "", Invalid("The cursor of the list is not one that was given out. List from the beginning.")
	}
	return n, ID(id), nil
}
