package store

import (
	"context"
	"strconv"
	"strings"
	"unicode"

	"github.com/forevervm/desktop/backend/machine"
)

// How much of each is searchable.
const (
	searchableCode   = 64 << 10
	searchableOutput = 64 << 10
	searchableResult = 16 << 10
)

// Marks around what was found, in a snippet.
const (
	markFrom = "\x01"
	markTo   = "\x02"
)

// Index makes a finished instruction findable, in place of what was indexed of it before. What its
// sender said that it does is found with its code.
func (w writer) Index(in machine.Instruction, output string) error {
	result := in.Error
	if in.Value != nil {
		result = *in.Value
	}
	return w.s.exec(`INSERT OR REPLACE INTO search (rowid, code, output, result)
		VALUES ((SELECT id FROM instructions WHERE machine = ? AND seq = ?), ?, ?, ?)`,
		in.Machine, in.Seq, plainText(strings.TrimSpace(in.Summary+"\n"+in.Code), searchableCode), plainText(output, searchableOutput), plainText(result, searchableResult))
}

// plainText is text without terminal colours and other control characters, none of which belong
// into a snippet.
func plainText(text string, limit int) string {
	text = strings.ToValidUTF8(text[:min(len(text), limit)], "")
	if strings.IndexFunc(text, notShown) < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == 0x1b && i+1 < len(text) && text[i+1] == '[' { // a colour: up to its final letter
			for i += 2; i < len(text) && (text[i] < 0x40 || text[i] > 0x7e); i++ {
			}
			continue
		}
		if !notShown(rune(text[i])) || text[i] >= 0x80 {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

func notShown(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }

// Search finds instructions in which every word occurs, newest first.
func (s *Store) Search(ctx context.Context, q machine.SearchQuery, id machine.ID) (machine.Page[machine.SearchHit], error) {
	var page machine.Page[machine.SearchHit]
	match := matchExpression(q.Text)
	if match == "" {
		return page, nil
	}
	before := int64(1<<63 - 1)
	if q.Cursor != "" {
		n, err := strconv.ParseInt(q.Cursor, 10, 64)
		if err != nil {
			return page, &machine.Error{Kind: machine.ErrInvalid, Message: "The cursor of the search is not one that was given out. Search from the beginning."}
		}
		before = n
	}
	var last int64
	err := s.each(ctx, `SELECT search.rowid, m.name, n.seq, n.queued_at, n.summary, n.code,
		snippet(search, 0, char(1), char(2), '…', 16), snippet(search, 1, char(1), char(2), '…', 16), snippet(search, 2, char(1), char(2), '…', 16)
		FROM search JOIN instructions n ON n.id = search.rowid JOIN machines m ON m.id = n.machine
		WHERE search MATCH ? AND search.rowid < ? AND (m.id = ? OR ? = '' AND m.deleted_at IS NULL)
		ORDER BY search.rowid DESC`+limited, []any{match, before, id, id, q.Limit + 1},
		func(r scanner) (bool, error) {
			if len(page.Items) == q.Limit {
				page.Next = strconv.FormatInt(last, 10)
				return false, nil
			}
			var hit machine.SearchHit
			var at int64
			var snippets [3]string
			if err := r.Scan(&last, &hit.MachineName, &hit.Seq, &at, &hit.Summary, &hit.Code, &snippets[0], &snippets[1], &snippets[2]); err != nil {
				return false, err
			}
			hit.At = fromNano(at)
			hit.Field, hit.Snippet = "code", snippets[0]
			for i, field := range []string{"code", "output", "result"} {
				if strings.Contains(snippets[i], markFrom) {
					hit.Field, hit.Snippet = field, snippets[i]
					break
				}
			}
			page.Items = append(page.Items, hit)
			return true, nil
		})
	return page, err
}

// matchExpression turns words as people type them into a query: all must occur, each as the
// beginning of a word. A word with punctuation, such as df.groupby, is looked for as it stands.
func matchExpression(text string) string {
	var terms []string
	for _, word := range strings.Fields(strings.ToValidUTF8(text, " ")) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			terms = append(terms, `"`+strings.ReplaceAll(strings.ReplaceAll(word, `"`, `""`), "\x00", "")+`"*`)
		}
		if len(terms) == 32 {
			break
		}
	}
	return strings.Join(terms, " ")
}
