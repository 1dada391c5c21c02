package export

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// told is a history that was written down.
type told struct {
	steps []machine.Instruction
	items map[int][]machine.Item
}

func (h told) Machine() machine.Machine { return otter }

func (h told) Instructions(_ context.Context, q machine.InstructionQuery) (page machine.Page[machine.Instruction], err error) {
	for _, in := range h.steps {
		if q.After != nil && in.Seq <= *q.After {
			continue
		}
		if len(page.Items) == 2 {
			page.Next = "more"
			break
		}
		page.Items = append(page.Items, in)
	}
	return page, nil
}

func (h told) Items(_ context.Context, seq, from, limit int) (items []machine.Item, err error) {
	for _, it := range h.items[seq] {
		if it.Index >= from && len(items) < limit {
			items = append(items, it)
		}
	}
	return items, nil
}

func (h *told) add(in machine.Instruction, items ...machine.Item) {
	in.Seq, in.QueuedAt, in.Items = len(h.steps), time.Unix(1_800_000_000, 0), len(items)
	if in.Client.Name == "" {
		in.Client.Name = "Claude Desktop"
	}
	if in.Status == "" {
		in.Status = machine.StatusOK
	}
	if in.Status != machine.StatusQueued {
		in.StartedAt = &in.QueuedAt
	}
	for i := range items {
		items[i].Index = i
	}
	if h.items == nil {
		h.items = map[int][]machine.Item{}
	}
	h.items[in.Seq] = items
	h.steps = append(h.steps, in)
}

func out(text string) machine.Item {
	return machine.Item{Kind: machine.ItemOutput, Stream: "stdout", Text: []byte(text)}
}

func shown(mime, data string) machine.Item {
	return machine.Item{Kind: machine.ItemDisplay, Representations: []machine.Representation{{MIME: mime, Data: []byte(data)}}}
}

var otter = machine.Machine{Name: "brave-otter-42", Title: "Sales <b>figures</b>"}

func write(t *testing.T, f Format, h told) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(t.Context(), &b, f, h, time.Unix(1_800_000_100, 0), []byte("window.Plotly = {}")); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func ptr[T any](v T) *T { return &v }

// A history with everything that happens in one.
func history() told {
	var h told
	h.add(machine.Instruction{Code: "for i in range(3): print(i)\n'done'", Value: ptr("'done'")}, out("0%\r50%\r100%\n\x1b[31mred\x1b[0m\n"))
	h.add(machine.Instruction{Code: "plot()"}, out("gone"), machine.Item{Kind: machine.ItemClear}, shown("image/png", "\x89PNG"), shown("image/svg+xml", "<svg/>"))
	h.add(machine.Instruction{Code: "1/0\nx = 1", Status: machine.StatusError, ErrorName: "ZeroDivisionError", Error: "Traceback\nZeroDivisionError: division by zero"})
	h.add(machine.Instruction{Code: "%pip list\n!ls\nundone = 1", RolledBack: true})
	h.add(machine.Instruction{Code: "table", Value: ptr("   a\n0  1"), Data: []machine.Representation{{MIME: "text/html", Data: []byte("<table><tr><td>1</td></tr></table>")}}})
	h.add(machine.Instruction{Code: "later()", Status: machine.StatusQueued})
	return h
}

func TestEveryFormatTellsTheStory(t *testing.T) {
	h := history()
	for format, wants := range map[Format][]string{
		Script:   {"# Sales <b>figures</b>", "# %% Step 1 · Claude Desktop · 2027-01-15 08:00 UTC", "'done'\n", "# 1/0\n# x = 1", "# undone = 1", "# This step had not begun yet.\n# later()"},
		Text:     {`# Sales \<b\>figures\</b\>`, "```python\nplot()\n```", "```text\n100%\nred\n```", "![Picture of step 2][picture-1]", "[picture-1]: data:image/png;base64,iVBORw==", "division by zero", "   a\n0  1"},
		Page:     {"<h1>Sales &lt;b&gt;figures&lt;/b&gt;</h1>", "100%\nred</pre>", `src="data:image/png;base64,iVBORw=="`, `src="data:image/svg+xml;base64,`, "<iframe sandbox=\"\"", "&lt;table&gt;", "undone"},
		Notebook: {`"nbformat": 4`, `"100%`, "division by zero", `"image/png":"iVBORw=="`, `"text/html":"\u003ctable`},
	} {
		got := write(t, format, h)
		for _, want := range wants {
			if format == Notebook && want == `"100%` {
				want = `0%\r50%\r100%\n` // as it was: Jupyter knows what to do with it
			}
			if !strings.Contains(got, want) {
				t.Errorf("%s has no %q:\n%s", format, want, got)
			}
		}
		if strings.Contains(got, "gone\n") || strings.Contains(got, ">gone<") || strings.Contains(got, `"gone"`) {
			t.Errorf("%s shows what was cleared", format)
		}
	}
}

const figure = `{"data": [{"y": [1, 2], "name": "</script><script>alert(1)</script>"}], "layout": {"height": 300}}`

// A report is for somebody who wants to know what came out.
func TestAReportHoldsResultsAlone(t *testing.T) {
	var h told
	value := "Figure({'data': "
	h.add(machine.Instruction{Code: "import pandas as pd"})
	h.add(machine.Instruction{Code: "plot()", Summary: "Charts sales by month"}, shown("image/png", "png"), machine.Item{Kind: machine.ItemOutput, Stream: "stderr", Text: []byte("DeprecationWarning")})
	h.add(machine.Instruction{Code: "fig", Value: &value, Data: []machine.Representation{{MIME: "application/vnd.plotly.v1+json", Data: []byte(figure)}}})
	h.add(machine.Instruction{Code: "failed()", Status: machine.StatusError, Error: "Traceback"}, out("before it failed"))
	h.add(machine.Instruction{Code: "undone()", RolledBack: true}, out("undone output"))
	h.add(machine.Instruction{Code: "for n in range(5000): print(n)"}, out(strings.Repeat("line\n", 5000)))
	got := write(t, Report, h)
	for _, want := range []string{"<h2 id=\"step-2\">Charts sales by month</h2>", "<details><summary>Code</summary>\n<pre class=\"code\">plot()", "data-figure sandbox=\"allow-scripts\"", "height: 300px", "4980 more lines", "window.Plotly = {}"} {
		if !strings.Contains(got, want) {
			t.Errorf("it has no %q:\n%s", want, got)
		}
	}
	for _, bad := range []string{"import pandas", "DeprecationWarning", "Traceback", "before it failed", "undone()", "undone output", "Figure(", "alert(1)</script>"} {
		if strings.Contains(got, bad) {
			t.Errorf("it has %q", bad)
		}
	}
	if !strings.Contains(write(t, Report, told{}), "There is no result yet.") {
		t.Error("an empty one says nothing")
	}
	if text := write(t, Text, h); strings.Contains(text, "Figure(") || !strings.Contains(text, "An interactive figure.") {
		t.Errorf("the Markdown has a figure's data:\n%s", text)
	}
}

// The script is Python and runs what worked, and nothing else.
func TestTheScriptRuns(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		if runtime.GOOS == "linux" {
			t.Fatal(err)
		}
		t.Skip("there is no Python here")
	}
	var h told
	h.add(machine.Instruction{Code: "print('first')\n%matplotlib inline\n!ls"})
	for i, end := range []string{"\n", "\r", "\r\n", "\f", "\x0b", "\u2028", "\x00"} {
		h.add(machine.Instruction{
			Code: "raise SystemExit('ran')" + end + "raise SystemExit('ran')", Status: machine.StatusError, ErrorName: "E" + end + "raise SystemExit('ran')",
			Client: machine.Client{Name: fmt.Sprint("App ", i, end, "raise SystemExit('ran')")},
		})
	}
	h.add(machine.Instruction{Code: "print('last')"})
	file := filepath.Join(t.TempDir(), "story.py")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(write(t, Script, h), "\x00", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), python, file).CombinedOutput()
	if err != nil || string(said) != "first\nlast\n" {
		t.Errorf("%v: %s", err, said)
	}
}

func TestTheNotebookIsOne(t *testing.T) {
	h := history()
	h.add(machine.Instruction{Code: "hostile"}, shown("application/javascript", "alert(1)"), shown("application/json", "{"), shown("application/vnd.plotly.v1+json", `{"data": []}`), out("\xff\xfe"))
	var doc struct {
		Format int `json:"nbformat"`
		Cells  []struct {
			Type    string          `json:"cell_type"`
			ID      string          `json:"id"`
			Source  string          `json:"source"`
			Count   json.RawMessage `json:"execution_count"`
			Outputs []struct {
				Type string                     `json:"output_type"`
				Data map[string]json.RawMessage `json:"data"`
			} `json:"outputs"`
		} `json:"cells"`
	}
	if err := json.Unmarshal([]byte(write(t, Notebook, h)), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Cells) != len(h.steps)+1 || doc.Cells[0].Type != "markdown" || doc.Cells[0].Count != nil {
		t.Fatalf("%+v", doc.Cells)
	}
	types := map[int]string{1: "stream execute_result", 2: "display_data display_data", 3: "error", 5: "execute_result", 7: "display_data stream"}
	for i, cell := range doc.Cells[1:] {
		var got []string
		for _, o := range cell.Outputs {
			got = append(got, o.Type)
			if o.Data["application/javascript"] != nil {
				t.Error("a script got in")
			}
		}
		if cell.Source != h.steps[i].Code || cell.ID == "" || strings.Join(got, " ") != types[i+1] {
			t.Errorf("cell %d: %q has %v, want %s", i+1, cell.Source, got, types[i+1])
		}
	}
}

// What a machine calls itself or puts out cannot leave its place.
func TestHostileOutputStaysWhereItIs(t *testing.T) {
	bait := "</pre></iframe>\"'></script><script>alert(1)</script><img src=http://x.invalid/ onerror=alert(1)>\n```\n# x\n"
	var h told
	h.add(machine.Instruction{Code: bait + "\u202e", Value: &bait, Client: machine.Client{Name: bait}}, out(bait), shown("text/html", bait), shown("text/csv", `"`+strings.ReplaceAll(bait, `"`, `""`)+`"`+"\n1\n"), shown("text/markdown", bait), shown("image/svg+xml", bait), shown("text/x\" onload=\"alert(1)", bait))
	h.add(machine.Instruction{Code: "x", Status: machine.StatusError, ErrorName: bait, Error: bait})
	page := write(t, Page, h) + write(t, Report, h)
	for _, bad := range []string{"<script", "<img src=http", "\u202e"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if strings.Count(page, "<iframe") != strings.Count(page, `<iframe sandbox=""`) || !strings.Contains(page, `content="default-src 'none'`) {
		t.Error("a frame may do more than it should")
	}
	open := ""
	for i, l := range strings.Split(write(t, Text, h), "\n") {
		mark := l[:len(l)-len(strings.TrimLeft(l, "`"))]
		switch {
		case open == "" && len(mark) >= 3:
			open = mark
		case open != "" && l == open:
			open = ""
		case open == "" && strings.Contains(strings.ReplaceAll(l, `\<`, ""), "<"):
			t.Errorf("line %d of the Markdown is outside of any code: %s", i+1, l)
		}
	}
}

// However long an output, a document has its beginning and its end.
func TestLongOutputIsCutInTheMiddle(t *testing.T) {
	var h told
	var items []machine.Item
	for i := range 500 {
		items = append(items, out(fmt.Sprintf("begin %d %s\n", i, strings.Repeat("x", 16<<10))))
	}
	h.add(machine.Instruction{Code: "x", OutputDropped: 7}, items...)
	for _, f := range []Format{Page, Text, Notebook} {
		got := write(t, f, h)
		if len(got) > 2<<20 || !strings.Contains(got, "begin 0 ") || !strings.Contains(got, "begin 499 ") || !strings.Contains(got, "left out") || !strings.Contains(got, "7 bytes") {
			t.Errorf("%s: %d bytes", f, len(got))
		}
	}
}

// A table comes whole: its HTML has a part of it.
func TestATableIsThereWhole(t *testing.T) {
	rows := []string{",city,profit"}
	for i := range 400 {
		rows = append(rows, fmt.Sprintf("%d,\"Paris, %d\",%d.20000000000002", i, i, 150+i))
	}
	both := shown("text/html", "<table><tr><td>…</td></tr></table>")
	both.Representations = append(both.Representations, machine.Representation{MIME: "text/csv", Data: []byte(strings.Join(rows, "\n") + "\n")})
	var h told
	h.add(machine.Instruction{Code: "sales"}, both)
	for _, f := range []Format{Report, Page} {
		page := write(t, f, h)
		for _, want := range []string{
			`<td>Paris, 0</td>`, `<td>Paris, 399</td>`, `<td class="number" title="549.20000000000002">549.2</td>`, "400 rows × 2 columns",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %s", f, want)
			}
		}
	}
	for _, broken := range []string{"", "a,b\n1\n", "\"", ",a", strings.Repeat(",", maxCells) + "\n" + strings.Repeat(",", maxCells)} {
		both.Representations[1].Data = []byte(broken)
		var h told
		h.add(machine.Instruction{Code: "sales"}, both)
		if page := write(t, Report, h); !strings.Contains(page, "<iframe") {
			t.Errorf("%.20q: the HTML is not there", broken)
		}
	}
}

// Paper does not scroll: a wide table stands on it in parts, each with the names of the rows.
func TestAWideTableOnPaperHasAllColumns(t *testing.T) {
	const columns = 61
	row := func(cell func(i int) string) string {
		var cells []string
		for i := range columns {
			cells = append(cells, cell(i))
		}
		return strings.Join(cells, ",")
	}
	csv := "," + row(func(i int) string { return fmt.Sprint("measure_", i) }) + "\n" +
		"first," + row(func(i int) string { return fmt.Sprint(i, ".123456789012345") }) + "\n"
	var h told
	h.add(machine.Instruction{Code: "wide"}, shown("text/csv", csv))
	page := write(t, PDF, h)
	parts := strings.Count(page, "<table>")
	if parts < 5 || parts > 20 || strings.Count(page, ">first</th>") != parts || !strings.Contains(page, "Columns 1 to ") || !strings.Contains(page, "61 of 61") {
		t.Errorf("%d parts", parts)
	}
	for i := range columns {
		if name := fmt.Sprintf(">measure_%d</th>", i); strings.Count(page, name) != 1 {
			t.Errorf("%s is there %d times", name, strings.Count(page, name))
		}
	}
	if page := write(t, Report, h); strings.Count(page, "<table>") != 1 || strings.Contains(page, "Columns 1") {
		t.Error("a page that scrolls has parts, too")
	}
}

// What drawing gives is no result.
func TestAReportHasNoDescriptionsOfObjects(t *testing.T) {
	for value, want := range map[string]bool{
		"<Axes: xlabel='city'>": false, "[<matplotlib.lines.Line2D object at 0x7f>]": false, "array([<Axes: >], dtype=object)": true, "'<b>'": true, "1 < 2 > 0": true,
		"(array([1.]), <BarContainer object of 1 artists>)": false,
	} {
		var h told
		h.add(machine.Instruction{Code: "x", Value: &value}, shown("image/png", "x"))
		if got := strings.Contains(write(t, Report, h), `<pre class="value">`); got != want {
			t.Errorf("%s is there: %v", value, got)
		}
		if !strings.Contains(write(t, Page, h), `<pre class="value">`) {
			t.Errorf("a page lacks %s", value)
		}
	}
}

func TestNumbersAreRounded(t *testing.T) {
	for text, want := range map[string]string{
		"151.20000000000002": "151.2", "0.1": "0.1", "-3.14159265358": "-3.14159", "1234567.891234": "1234568", "12": "12", "2.5000001e-09": "2.5e-09", "0.000123456789": "0.000123457", "abc": "abc",
	} {
		if got := rounded(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
