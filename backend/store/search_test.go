package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

func TestSearch(t *testing.T) {
	s := openNew(t)
	value := "array([1, 2, 3])"
	write(t, s, func(w machine.Writer) error {
		a := instruction("a", 0, "import pandas as pd\ndf.groupby('country').sum()")
		a.Summary = "Adds up the sales"
		b := instruction("a", 1, "x")
		b.Value = &value
		gone := record("b", "two")
		when := at(3)
		gone.DeletedAt = &when
		return errors.Join(
			w.PutMachine(record("a", "one")), w.PutMachine(gone),
			w.AddInstruction(a), w.Index(a.Instruction, "\x1b[31mMalmö\x1b[0m 42\x01\n"),
			w.AddInstruction(b), w.Index(b.Instruction, ""),
			w.AddInstruction(instruction("b", 0, "pandas")), w.Index(instruction("b", 0, "pandas").Instruction, ""),
		)
	})
	for _, c := range []struct{ text, field, snippet string }{
		{"pandas", "code", "\x01pandas\x02"},
		{"PAND", "code", "\x01pandas\x02"},
		{"df.groupby country", "code", "\x01df.groupby\x02"},
		{"sales", "code", "the \x01sales\x02"},
		{"malmo", "output", "\x01Malmö\x02 42"},
		{"array", "result", "\x01array\x02([1, 2, 3])"},
		{`"; DROP`, "", ""},
		{"pandas nowhere", "", ""},
		{"* ( ) -", "", ""},
		{"AND OR NOT NEAR", "", ""},
		{"", "", ""},
	} {
		page, err := s.Search(t.Context(), machine.SearchQuery{Text: c.text, Limit: 10}, "")
		ok(t, err)
		if c.field == "" {
			if len(page.Items) != 0 {
				t.Errorf("%q finds %+v", c.text, page.Items)
			}
			continue
		}
		if len(page.Items) != 1 || page.Items[0].Field != c.field || !strings.Contains(page.Items[0].Snippet, c.snippet) || page.Items[0].MachineName != "one" || page.Items[0].Code == "" {
			t.Errorf("%q finds %+v", c.text, page.Items)
		}
	}
	page, err := s.Search(t.Context(), machine.SearchQuery{Text: "pandas", Limit: 10}, "b")
	ok(t, err)
	if len(page.Items) != 1 {
		t.Errorf("in the bin, asked for: %+v", page.Items)
	}
}

func TestSearchHasPages(t *testing.T) {
	s := openNew(t)
	write(t, s, func(w machine.Writer) error {
		err := w.PutMachine(record("a", "one"))
		for i := range 7 {
			in := instruction("a", i, "same")
			err = errors.Join(err, w.AddInstruction(in), w.Index(in.Instruction, ""))
		}
		return err
	})
	var got []int
	for q := (machine.SearchQuery{Text: "same", Limit: 3}); ; {
		page, err := s.Search(t.Context(), q, "")
		ok(t, err)
		for _, h := range page.Items {
			got = append(got, h.Seq)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	if fmt.Sprint(got) != "[6 5 4 3 2 1 0]" {
		t.Fatal(got)
	}
	if _, err := s.Search(t.Context(), machine.SearchQuery{Text: "same", Cursor: "x", Limit: 3}, ""); !errors.Is(err, machine.ErrInvalid) {
		t.Fatal(err)
	}
}
