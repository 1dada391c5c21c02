package export

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// page writes one HTML file. Its policy lets nothing be loaded, and no frame go anywhere. The only
// scripts that run are three of ours, known by their digests: they draw figures from their data.
// HTML of a machine's stands in frames without scripts, which have that policy, too.
type page struct {
	out    *bufio.Writer
	report bool   // results alone
	paper  bool   // to be printed
	plotly string // the code of Plotly; "" for none
	drawn  bool   // a figure is there
	empty  bool   // nothing is there
}

const policy = `default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'`

// boot gives each figure a frame of its own once it comes into view, with Plotly and the figure's
// data, in which "<" is written as an escape.
//
//go:embed scripts/boot.js
var boot string

// draw draws the figure of a frame.
//
//go:embed scripts/draw.js
var draw string

// policyOf is the policy of a page that may run these scripts.
func policyOf(scripts ...string) string {
	var digests strings.Builder
	for _, script := range scripts {
		sum := sha256.Sum256([]byte(script))
		digests.WriteString(" 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'")
	}
	return policy + "; script-src" + digests.String()
}

const head = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="referrer" content="no-referrer">
<meta http-equiv="x-dns-prefetch-control" content="off">
<meta name="viewport" content="width=device-width">
<title>%s</title>
<style>
:root { color-scheme: light dark; --ink: #1c1d1a; --soft: #5f625b; --line: #dfe0da; --sunken: #f5f5f1; --bad: #b3261e; --paper: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7e8e3; --soft: #a3a69d; --line: #363934; --sunken: #232520; --bad: #f28b82; --paper: #1b1d19; } }
body { max-width: 960px; margin: 32px auto; padding: 0 20px; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 26px; line-height: 1.3; } h2 { margin: 32px 0 8px; font-size: 14px; font-weight: 600; } .soft, .remark { color: var(--soft); }
pre { margin: 0 0 8px; padding: 10px 14px; overflow-x: auto; font: 13px/1.5 ui-monospace, Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; }
pre.code { border: 1px solid var(--line); border-radius: 8px; background: var(--sunken); } pre.error { color: var(--bad); }
img { display: block; max-width: 100%%; margin: 8px 0; border-radius: 6px; background: #fff; }
iframe { display: block; width: 100%%; margin: 8px 0; border: 0; resize: vertical; overflow: auto; }
iframe[data-figure] { resize: none; overflow: hidden; border-radius: 6px; background: #fff; }
details { margin: 0 0 8px; } summary { color: var(--soft); cursor: pointer; font-size: 13px; }
.report h2 { margin: 40px 0 12px; font-size: 18px; }
.table { margin: 8px 0 0; overflow: auto; width: fit-content; max-width: 100%%; } .table.long { max-height: 470px; border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; font: 13px/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 12px; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap; max-width: 40ch; overflow: hidden; text-overflow: ellipsis; unicode-bidi: isolate; }
thead th { position: sticky; top: 0; z-index: 1; background: var(--sunken); } tbody th { position: sticky; left: 0; background: var(--paper); color: var(--soft); font-weight: 400; }
.number { text-align: right; } .size { margin: 4px 0 8px; font-size: 13px; }
body[data-paper] { color-scheme: only light; }
.undone { opacity: .6; }
@media print { body { margin: 0; max-width: none; } h2, tr, img, iframe { break-inside: avoid; } h2 { break-after: avoid; } thead { display: table-header-group; }
  .table.long { max-height: none; border: 0; } thead th, tbody th { position: static; } details:not([open]) { display: none; } }
</style>
</head>
<body%s>
<h1>%s</h1>
<p class="soft">%s</p>
`

// frameHead begins the document of a frame; what follows is a machine's.
const frameHead = `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="` + policy + `"><style>` +
	`:root { color-scheme: light dark; } body { margin: 0; font: 13px/1.5 system-ui, sans-serif; } table { border-collapse: collapse; }` +
	` th, td { padding: 4px 10px; border-bottom: 1px solid #8884; text-align: right; }</style>`

func (p *page) begin(m machine.Machine, at time.Time) {
	name := html.EscapeString(visible(title(m)))
	may := policy
	if p.plotly != "" {
		may = policyOf(boot, p.plotly, draw)
	}
	class, date := "", at.Format("2 January 2006")
	about := "Machine " + visible(m.Name) + ", exported by ForeverVM on " + date + "."
	if p.report {
		class, about = ` class="report"`, date
	}
	if p.paper {
		class += " data-paper"
	}
	fmt.Fprintf(p.out, head, may, name, class, name, html.EscapeString(about))
	p.empty = true
}

func (p *page) step(s step) {
	if p.report {
		if worked(s.Instruction) && s.shows() {
			p.result(s)
		}
		return
	}
	p.empty = false
	class := ""
	if s.RolledBack {
		class = ` class="undone"`
	}
	fmt.Fprintf(p.out, "<section%s>\n<h2 id=\"step-%d\">%s</h2>\n", class, s.Seq+1, html.EscapeString(heading(s.Instruction)))
	if told := remark(s.Instruction); told != "" {
		fmt.Fprintf(p.out, "<p class=\"remark\">%s</p>\n", html.EscapeString(told))
	}
	p.pre("code", s.Code)
	p.outcome(s)
	fmt.Fprint(p.out, "</section>\n")
}

// result writes a step for people who want to know what came out.
func (p *page) result(s step) {
	p.empty = false
	fmt.Fprintf(p.out, "<section>\n<h2 id=\"step-%d\">%s</h2>\n", s.Seq+1, html.EscapeString(cmp.Or(headline(s.Instruction), fmt.Sprintf("Step %d", s.Seq+1))))
	p.outcome(s)
	fmt.Fprint(p.out, "<details><summary>Code</summary>\n")
	p.pre("code", s.Code)
	fmt.Fprint(p.out, "</details>\n</section>\n")
}

// object is how Python describes what has no better text, as the axes that drawing gives: nothing
// for people to read.
var object = regexp.MustCompile(`(?s)^[\[(]?<\w.*>|<[\w.]+ object [^<>]*>`)

// outcome writes what a step put out, and its value or its error.
func (p *page) outcome(s step) {
	for i := range s.blocks {
		switch b := &s.blocks[i]; {
		case b.stream == "":
			p.shown(s.Seq, b.forms)
		case b.stream == noteStream:
			fmt.Fprintf(p.out, "<p class=\"remark\">%s</p>\n", html.EscapeString(string(b.text)))
		case !p.report || b.stream != stderrStream: // a report has no warnings of libraries
			p.pre(b.stream, plain(b.text))
		}
	}
	switch {
	case s.Status == machine.StatusError:
		p.pre("error", plain([]byte(s.Error)))
	case s.Value == nil || p.shown(s.Seq, s.Data):
	case !p.report || !object.MatchString(*s.Value):
		p.pre("value", plain([]byte(*s.Value)))
	}
}

func (p *page) end() {
	if p.empty {
		fmt.Fprint(p.out, "<p class=\"soft\">There is no result yet.</p>\n")
	}
	if p.drawn {
		// Neither the figures' code nor what draws them runs here: the frames get it.
		fmt.Fprintf(p.out, "<script type=\"text/plain\" id=\"plotly\">%s</script>\n<script type=\"text/plain\" id=\"draw\">%s</script>\n<script>%s</script>\n", p.plotly, draw, boot)
	}
	fmt.Fprint(p.out, "</body>\n</html>\n")
}

// manyLines is how long a text is that is folded, and fewLines what is seen of it.
const manyLines, fewLines = 60, 20

func (p *page) pre(class, text string) {
	if text = strings.TrimRight(visible(text), "\n"); text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	if len(lines) <= manyLines || class == "code" {
		fmt.Fprintf(p.out, "<pre class=\"%s\">%s</pre>\n", html.EscapeString(class), html.EscapeString(text))
		return
	}
	fmt.Fprintf(p.out, "<pre class=\"%s\">%s</pre>\n<details><summary>%d more lines</summary>\n<pre class=\"%s\">%s</pre>\n</details>\n",
		html.EscapeString(class), html.EscapeString(strings.Join(lines[:fewLines], "\n")), len(lines)-fewLines,
		html.EscapeString(class), html.EscapeString(strings.Join(lines[fewLines:], "\n")))
}

// figure writes a figure of Plotly's, and says whether it could.
func (p *page) figure(seq int, data []byte) bool {
	var figure struct {
		Layout struct {
			Height float64 `json:"height"`
		} `json:"layout"`
	}
	if p.plotly == "" || !json.Valid(data) {
		return false
	}
	_ = json.Unmarshal(data, &figure) // a height that is none is as if it had none
	var escaped bytes.Buffer
	json.HTMLEscape(&escaped, data)
	p.drawn = true
	const least, usual, most = 200, 450, 1200
	height := min(max(cmp.Or(figure.Layout.Height, usual), least), most)
	fmt.Fprintf(p.out, "<script type=\"application/json\">%s</script><iframe data-figure sandbox=\"allow-scripts\" referrerpolicy=\"no-referrer\" title=\"Figure of step %d\" style=\"height: %.0fpx\"></iframe>\n",
		escaped.String(), seq+1, height)
	return true
}

// shown writes something in the best form that a page can have, and says whether there was one.
func (p *page) shown(seq int, forms []machine.Representation) bool {
	if f := form(forms, plotlyMIME); f != nil && p.figure(seq, f.Data) {
		return true
	}
	if p.table(forms) {
		return true
	}
	f := form(forms, "image/png", "image/svg+xml", "image/jpeg", "image/gif", "image/webp", "text/html", "text/markdown", "text/latex", "text/plain")
	switch {
	case f == nil:
		return false
	case strings.HasPrefix(f.MIME, "image/"):
		// In an image an SVG runs no script and loads nothing.
		fmt.Fprintf(p.out, "<img alt=\"Picture of step %d\" src=\"data:%s;base64,%s\">\n", seq+1, f.MIME, base64.StdEncoding.EncodeToString(f.Data))
	case f.MIME == "text/html":
		text := strings.ToValidUTF8(string(f.Data), "\uFFFD")
		fmt.Fprintf(p.out, "<iframe sandbox=\"\" referrerpolicy=\"no-referrer\" title=\"Output of step %d\" style=\"height: %dpx\" srcdoc=\"%s\"></iframe>\n",
			seq+1, frameHeight(text), html.EscapeString(frameHead+text))
	default:
		p.pre("value", plain(f.Data))
	}
	return true
}

// frameHeight guesses how high HTML is: without scripts nobody can tell. People can pull it.
func frameHeight(text string) int {
	const row, least, most = 29, 64, 480
	rows := strings.Count(text, "<tr") + strings.Count(text, "<p") + strings.Count(text, "<br") + 1
	return min(max(rows*row, least), most)
}
