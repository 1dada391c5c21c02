package export

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// page writes one HTML file. Its policy lets nothing be loaded, no script run, and no frame go
// anywhere; HTML of a machine's stands in frames without scripts, which have that policy, too.
type page struct{ out *bufio.Writer }

const policy = `default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'`

const head = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="` + policy + `">
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
.undone { opacity: .6; }
</style>
</head>
<body>
<h1>%s</h1>
<p class="soft">Machine %s, exported by ForeverVM on %s.</p>
`

// frameHead begins the document of a frame; what follows is a machine's.
const frameHead = `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="` + policy + `"><style>` +
	`:root { color-scheme: light dark; } body { margin: 0; font: 13px/1.5 system-ui, sans-serif; } table { border-collapse: collapse; }` +
	` th, td { padding: 4px 10px; border-bottom: 1px solid #8884; text-align: right; }</style>`

func (p *page) begin(m machine.Machine, at time.Time) {
	name := html.EscapeString(visible(title(m)))
	fmt.Fprintf(p.out, head, name, name, html.EscapeString(visible(m.Name)), at.Format("2 January 2006"))
}

func (p *page) step(s step) {
	class := ""
	if s.RolledBack {
		class = ` class="undone"`
	}
	fmt.Fprintf(p.out, "<section%s>\n<h2 id=\"step-%d\">%s</h2>\n", class, s.Seq+1, html.EscapeString(heading(s.Instruction)))
	if told := remark(s.Instruction); told != "" {
		fmt.Fprintf(p.out, "<p class=\"remark\">%s</p>\n", html.EscapeString(told))
	}
	p.pre("code", s.Code)
	for i := range s.blocks {
		switch b := &s.blocks[i]; b.stream {
		case "":
			p.shown(s.Seq, b.forms)
		case noteStream:
			fmt.Fprintf(p.out, "<p class=\"remark\">%s</p>\n", html.EscapeString(string(b.text)))
		default:
			p.pre(b.stream, plain(b.text))
		}
	}
	switch {
	case s.Status == machine.StatusError:
		p.pre("error", plain([]byte(s.Error)))
	case s.Value != nil && !p.shown(s.Seq, s.Data):
		p.pre("value", plain([]byte(*s.Value)))
	}
	fmt.Fprint(p.out, "</section>\n")
}

func (p *page) end() { fmt.Fprint(p.out, "</body>\n</html>\n") }

func (p *page) pre(class, text string) {
	if text = strings.TrimRight(visible(text), "\n"); text != "" {
		fmt.Fprintf(p.out, "<pre class=\"%s\">%s</pre>\n", html.EscapeString(class), html.EscapeString(text))
	}
}

// shown writes something in the best form that a page can have, and says whether there was one.
func (p *page) shown(seq int, forms []machine.Representation) bool {
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
