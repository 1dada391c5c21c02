package export

import (
	"encoding/csv"
	"fmt"
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/forevervm/desktop/backend/machine"
)

// csvMIME is a whole table: the runner sends it beside the HTML, which has a part of a long one.
const csvMIME = "text/csv"

// maxTable and maxCells bound what a machine can make a page draw. The runner sends less.
const (
	maxTable = 2 << 20 // bytes
	maxCells = 100_000
)

// manyRows is how many rows stand on a page at once; a longer table scrolls in its place.
const manyRows = 15

// table writes a whole table, and says whether there was one. A page on paper has all rows.
func (p *page) table(forms []machine.Representation) bool {
	f := form(forms, csvMIME)
	if f == nil || len(f.Data) > maxTable {
		return false
	}
	rows, err := csv.NewReader(strings.NewReader(strings.ToValidUTF8(string(f.Data), "\uFFFD"))).ReadAll()
	if err != nil || len(rows) < 2 || len(rows)*len(rows[0]) > maxCells {
		return false
	}
	head, body := rows[0], rows[1:]
	class := "table"
	if len(body) > manyRows {
		class = "table long"
	}
	numbers := make([]bool, len(head))
	for i := range head {
		numbers[i] = numeric(body, i)
	}
	room := math.MaxInt // it scrolls
	if p.paper {
		room = paperWidth
	}
	parts := sideBySide(rows, numbers, room)
	for _, columns := range parts {
		if len(parts) > 1 {
			fmt.Fprintf(p.out, "<p class=\"soft size\">Columns %s of %d</p>\n", span(columns[1], columns[len(columns)-1]), len(head)-1)
		}
		p.columns(class, rows, columns, numbers)
	}
	fmt.Fprintf(p.out, "<p class=\"soft size\">%s</p>\n", tableSize(len(body), len(head)-1))
	return true
}

// span is the numbers from one to another.
func span(first, last int) string {
	if first == last {
		return strconv.Itoa(first)
	}
	return fmt.Sprintf("%d to %d", first, last)
}

// columns writes some columns of a table, by their place in a row.
func (p *page) columns(class string, rows [][]string, columns []int, numbers []bool) {
	fmt.Fprintf(p.out, "<div class=\"%s\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table>\n<thead><tr>", class)
	for _, i := range columns {
		p.cell("th", rows[0][i], numbers[i])
	}
	fmt.Fprint(p.out, "</tr></thead>\n<tbody>\n")
	for _, row := range rows[1:] {
		fmt.Fprint(p.out, "<tr>")
		for _, i := range columns {
			tag := "td"
			if i == 0 {
				tag = "th"
			}
			p.cell(tag, row[i], numbers[i])
		}
		fmt.Fprint(p.out, "</tr>\n")
	}
	fmt.Fprint(p.out, "</tbody></table></div>\n")
}

// The width of paper and of what is in a table, in characters. They are estimates on the safe side.
const (
	paperWidth = 84
	cellWidth  = 40 // at most; the rest is cut, see the style
	cellSpace  = 4  // on both sides of a cell
)

// sideBySide are the columns of a table that fit beside each other, in characters of room. The
// first column, which names the rows, is in each part.
func sideBySide(rows [][]string, numbers []bool, room int) [][]int {
	width := func(column int) int {
		most := 0
		for _, row := range rows {
			text := row[column]
			if numbers[column] {
				text = rounded(text)
			}
			most = max(most, utf8.RuneCountInString(text))
		}
		return min(most, cellWidth) + cellSpace
	}
	first := width(0)
	var parts [][]int
	part, used := []int{0}, first
	for i := 1; i < len(numbers); i++ {
		wide := width(i)
		if len(part) > 1 && used+wide > room {
			parts = append(parts, part)
			part, used = []int{0}, first
		}
		part, used = append(part, i), used+wide
	}
	return append(parts, part)
}

func (p *page) cell(tag, text string, number bool) {
	class, title := "", ""
	if number {
		class = ` class="number"`
		if short := rounded(text); short != text {
			text, title = short, fmt.Sprintf(" title=\"%s\"", html.EscapeString(text))
		}
	}
	fmt.Fprintf(p.out, "<%s%s%s>%s</%s>", tag, class, title, html.EscapeString(visible(text)), tag)
}

// numeric says whether a column has nothing but numbers, and at least one.
func numeric(rows [][]string, column int) bool {
	found := false
	for _, row := range rows {
		if row[column] == "" {
			continue
		}
		if _, err := strconv.ParseFloat(row[column], 64); err != nil {
			return false
		}
		found = true
	}
	return found
}

// longNumber is one with more digits than people want to read.
var longNumber = regexp.MustCompile(`^-?\d+\.\d{5,}(e[+-]?\d+)?$`)

// rounded has six digits of a long number, as the window's tables do.
func rounded(text string) string {
	if !longNumber.MatchString(text) {
		return text
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	digits := max(6, strings.IndexByte(strings.TrimPrefix(text, "-"), '.'))
	short, err := strconv.ParseFloat(strconv.FormatFloat(number, 'g', digits, 64), 64)
	if err != nil {
		return text
	}
	form := byte('f')
	if size := math.Abs(short); size != 0 && (size < 1e-6 || size >= 1e21) {
		form = 'e'
	}
	return strconv.FormatFloat(short, form, -1, 64)
}

func tableSize(rows, columns int) string {
	return plural(rows, "row") + " × " + plural(columns, "column")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
