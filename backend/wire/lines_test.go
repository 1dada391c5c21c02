package wire_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/forevervm/desktop/backend/wire"
)

func TestLines(t *testing.T) {
	for name, test := range map[string]struct {
		writes []string // "o" or "e", then the text
		want   []string
	}{
		"lines":                           {[]string{"oa\nb\n"}, []string{"oa", "ob"}},
		"a line in pieces":                {[]string{"oa", "ob", "oc\n"}, []string{"oabc"}},
		"no newline at the end":           {[]string{"oa\nb"}, []string{"oa", "ob"}},
		"empty lines":                     {[]string{"o\n\n"}, []string{"o", "o"}},
		"nothing":                         {nil, nil},
		"streams apart":                   {[]string{"oa", "eb\n", "oc\n"}, []string{"eb", "oac"}},
		"windows newlines":                {[]string{"oa\r\nb\r", "o\nc\n"}, []string{"oa", "ob", "oc"}},
		"a progress bar":                  {[]string{"o 1%\r 2%", "o\r 3%", "o\n"}, []string{"o 3%"}},
		"a bar that ends in \\r":          {[]string{"o 1%\r", "o 2%\r"}, []string{"o 2%"}},
		"a lone \\r is an empty line":     {[]string{"o\r"}, []string{"o"}},
		"a bar on stderr, text on stdout": {[]string{"e1\r", "ox\n", "e2\r"}, []string{"ox", "e2"}},
		"invalid UTF-8":                   {[]string{"oa\xffb\n"}, []string{"oa\uFFFDb"}},
		"other breaks are no newlines":    {[]string{"oa\vb\u2028c\x00\n"}, []string{"oa\vb\u2028c\x00"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			var lines wire.Lines
			emit := func(c wire.Chunk) error {
				if c.Seq != len(got) {
					t.Errorf("chunk %d has the number %d", len(got), c.Seq)
				}
				got = append(got, strings.TrimPrefix(c.Stream, "std")[:1]+c.Data)
				return nil
			}
			for _, w := range test.writes {
				stream := map[byte]string{'o': "stdout", 'e': "stderr"}[w[0]]
				if err := lines.Write(stream, []byte(w[1:]), emit); err != nil {
					t.Fatal(err)
				}
			}
			if err := lines.Close(emit); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("chunks %q, want %q", got, test.want)
			}
		})
	}
}

func TestLongLinesAreSplitBetweenCharacters(t *testing.T) {
	text := strings.Repeat("€", wire.MaxChunk) // three bytes each, so that no limit falls between two
	var lines wire.Lines
	var back strings.Builder
	emit := func(c wire.Chunk) error {
		if len(c.Data) > wire.MaxChunk {
			t.Errorf("a chunk of %d bytes", len(c.Data))
		}
		if !utf8.ValidString(c.Data) || strings.Contains(c.Data, "\uFFFD") {
			t.Error("a character was cut")
		}
		back.WriteString(c.Data)
		return nil
	}
	if err := lines.Write("stdout", []byte(text+"\n"), emit); err != nil {
		t.Fatal(err)
	}
	if back.String() != text {
		t.Error("the chunks put together are not the line")
	}
	if err := lines.Close(func(wire.Chunk) error { t.Error("something came after the newline"); return nil }); err != nil {
		t.Fatal(err)
	}
}

// However the output is cut into writes, the chunks are the same.
func TestLinesDoNotDependOnWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab\r\n"))).Draw(t, "text")
		whole := chunks([]string{text})
		var parts []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			parts = append(parts, rest[:n])
			rest = rest[n:]
		}
		if cut := chunks(parts); fmt.Sprint(cut) != fmt.Sprint(whole) {
			t.Fatalf("in one write %q, in %q %q", whole, parts, cut)
		}
	})
}

func chunks(writes []string) []string {
	var got []string
	var lines wire.Lines
	emit := func(c wire.Chunk) error { got = append(got, c.Data); return nil }
	for _, w := range writes {
		_ = lines.Write("stdout", []byte(w), emit)
	}
	_ = lines.Close(emit)
	return got
}
