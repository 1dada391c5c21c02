package export

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// markdown writes text that reads well as it is. Pictures stand at the end, where they disturb
// nobody.
type markdown struct {
	out      *bufio.Writer
	pictures []picture
}

type picture struct {
	name string
	form machine.Representation
}

func (d *markdown) begin(m machine.Machine, at time.Time) {
	fmt.Fprintf(d.out, "# %s\n\nMachine %s, exported by ForeverVM on %s.\n", inline(title(m)), inline(m.Name), at.Format("2 January 2006"))
}

func (d *markdown) step(s step) {
	fmt.Fprintf(d.out, "\n## %s\n\n", inline(heading(s.Instruction)))
	if told := remark(s.Instruction); told != "" {
		fmt.Fprintf(d.out, "*%s*\n\n", inline(told))
	}
	d.fence("python", visible(s.Code))
	for i := range s.blocks {
		switch b := &s.blocks[i]; b.stream {
		case "":
			d.shown(s.Seq, b.forms)
		case noteStream:
			fmt.Fprintf(d.out, "\n*%s*\n", b.text)
		default:
			d.result(plain(b.text))
		}
	}
	if s.Status == machine.StatusError {
		d.result(plain([]byte(s.Error)))
	} else if !d.shownPicture(s.Seq, s.Data) && s.Value != nil {
		d.result(plain([]byte(*s.Value)))
	}
}

func (d *markdown) end() {
	if len(d.pictures) > 0 {
		fmt.Fprintln(d.out)
	}
	for _, p := range d.pictures {
		fmt.Fprintf(d.out, "[%s]: data:%s;base64,%s\n", p.name, p.form.MIME, base64.StdEncoding.EncodeToString(p.form.Data))
	}
}

// shown writes something shown as a picture, else as text: HTML of a machine's belongs into no text
// that others render.
func (d *markdown) shown(seq int, forms []machine.Representation) {
	if d.shownPicture(seq, forms) {
		return
	}
	if f := form(forms, "text/markdown", "text/latex", "text/plain"); f != nil {
		d.result(plain(f.Data))
	}
}

func (d *markdown) shownPicture(seq int, forms []machine.Representation) bool {
	f := form(forms, "image/png", "image/jpeg")
	if f == nil && form(forms, plotlyMIME) != nil { // its text is pages of data
		fmt.Fprint(d.out, "\n*An interactive figure. The report and the web page show it.*\n")
		return true
	}
	if f == nil {
		return false
	}
	name := fmt.Sprintf("picture-%d", len(d.pictures)+1)
	d.pictures = append(d.pictures, picture{name, *f})
	fmt.Fprintf(d.out, "\n![Picture of step %d][%s]\n", seq+1, name)
	return true
}

func (d *markdown) result(text string) {
	if text != "" {
		fmt.Fprintln(d.out)
		d.fence("text", visible(text))
	}
}

// fence writes text between marks that it does not hold itself.
func (d *markdown) fence(kind, text string) {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	fmt.Fprintf(d.out, "%s%s\n%s\n%s\n", mark, kind, strings.TrimRight(text, "\n"), mark)
}

// inline is text of anybody's that means nothing but itself in Markdown.
func inline(text string) string {
	var b strings.Builder
	for _, r := range line(text) {
		if strings.ContainsRune("\\`*_{}[]()<>#!|&~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
