package store

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

// TestHistoryOfTheFirstReleaseOpens migrates a database as the first release left it, and finds
// everything.
func TestHistoryOfTheFirstReleaseOpens(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("testdata", "v1.sql"))
	ok(t, err)
	path := filepath.Join(t.TempDir(), "history.db")
	raw, err := sql.Open("sqlite", dsn(path, "auto_vacuum(INCREMENTAL)"))
	ok(t, err)
	_, err = raw.ExecContext(t.Context(), string(script))
	ok(t, err)
	_, err = raw.ExecContext(t.Context(), `INSERT INTO checkpoints VALUES
		('r1', '0123456789abcdef', 'auto', 'before rewind', 1750000001000000000, 0, NULL, 1, 'i', 'r', 0, NULL, 'null'),
		('r2', '0123456789abcdef', 'auto', 'before rewind', 1750000002000000000, 0, NULL, 1, 'i', 'r', 0, NULL, 'null')`)
	ok(t, err)
	ok(t, raw.Close())
	s := openAt(t, path)

	machines, err := s.Machines(t.Context())
	ok(t, err)
	if len(machines) != 1 {
		t.Fatalf("%+v", machines)
	}
	m := machines[0]
	if m.Name != "brave-otter-42" || m.Aliases[0] != "old-name" || m.Tags["project"] != "q3" || m.Parent.LastSeq != 3 || m.NextSeq != 2 || m.NextNotice != "told next" || m.Client != (machine.Client{Name: "window", Version: "1.0"}) {
		t.Errorf("%+v", m)
	}
	in, err := s.Instruction(t.Context(), m.ID, 0)
	ok(t, err)
	if in.Code != "print(6 * 7)" || *in.Value != "None" || string(in.Data[0].Data) != "<b>" || in.Formats[0] != "svg" {
		t.Errorf("%+v", in)
	}
	if waiting, err := s.Unfinished(t.Context()); err != nil || len(waiting) != 1 || waiting[0].Seq != 1 {
		t.Errorf("%+v %v", waiting, err)
	}
	if page, err := s.Items(t.Context(), m.ID, 0, 0, 10); err != nil || string(page.Items[0].Text) != "42\n" {
		t.Errorf("%+v %v", page, err)
	}
	all, err := s.Checkpoints(t.Context(), m.ID)
	ok(t, err)
	if len(all) != 4 || all[2].Branch != "before rewind 2" || all[3].Branch != "before rewind" || all[3].Named || all[3].LeftAt != all[3].CreatedAt || all[3].Label != "" {
		t.Errorf("what was left by rewinds: %+v", all)
	}
	if all[0].Mark.Items != 1 || all[0].Lost[0] != (machine.Span{}) || all[1].Label != "before cleaning" {
		t.Errorf("%+v", all)
	}
	if g, err := s.Garbage(t.Context()); err != nil || len(g) != 1 {
		t.Errorf("%+v %v", g, err)
	}
	if hits, err := s.Search(t.Context(), machine.SearchQuery{Text: "42", Limit: 5}, ""); err != nil || len(hits.Items) != 1 || hits.Items[0].Field != "output" {
		t.Errorf("%+v %v", hits, err)
	}

	// Migrated, it has the schema of a new one.
	if old, fresh := schema(t, s), schema(t, openNew(t)); old != fresh {
		t.Errorf("schema of a migrated database:\n%s\nof a new one:\n%s", old, fresh)
	}
}

// schema is what the database consists of, without comments and spaces.
func schema(t *testing.T, s *Store) string {
	t.Helper()
	var b strings.Builder
	err := s.each(t.Context(), "SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name", nil, func(r scanner) (bool, error) {
		var text string
		err := r.Scan(&text)
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(line, "--")
			b.WriteString(strings.Join(strings.Fields(line), " "))
		}
		b.WriteString("\n")
		return true, err
	})
	ok(t, err)
	return b.String()
}
