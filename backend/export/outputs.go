package export

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/forevervm/desktop/backend/machine"
)

// step is an instruction and what is still to be seen of what it put out.
type step struct {
	machine.Instruction
	blocks []block
}

// shows says whether there is anything for others to look at.
func (s *step) shows() bool {
	return s.Value != nil || slices.ContainsFunc(s.blocks, func(b block) bool {
		return b.stream == "" || b.stream == stdoutStream && strings.TrimSpace(plain(b.text)) != ""
	})
}

// block is text of one stream, or something shown.
type block struct {
	stream string // "" for something shown
	text   []byte // UTF-8, with the machine's escapes
	id     string // by which it is shown again in its place
	forms  []machine.Representation
}

const (
	// Of long output the beginning is kept, of about so many bytes, and the last items.
	maxHead     = 512 << 10
	tailItems   = 20
	itemsAtOnce = 50
	// maxText and maxShown are how many bytes of text, and of pictures and the like, a step may
	// have; what comes later is left out.
	maxText  = 2 << 20
	maxShown = 32 << 20
)

// outputs reads what an instruction put out: what was cleared is not there, what was shown again is
// what it was at last.
func outputs(ctx context.Context, m Machine, in machine.Instruction) ([]block, error) {
	var c collector
	for from := 0; from < in.Items; {
		items, err := m.Items(ctx, in.Seq, from, itemsAtOnce)
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			break
		}
		for i := range items {
			if gap := items[i].Index - from; gap > 0 {
				c.note("Some output is not kept.")
			}
			c.add(&items[i])
			from = items[i].Index + 1
		}
		if c.headFull() && from < in.Items-tailItems {
			from = in.Items - tailItems
			c.note("The middle of this output is left out.")
		}
	}
	if in.OutputDropped > 0 {
		c.note(fmt.Sprintf("%d bytes of output were too much to keep.", in.OutputDropped))
	}
	return c.blocks, nil
}

// collector puts items together.
type collector struct {
	blocks  []block
	pending bool // what there is goes when the next item comes
	read    int  // bytes of text
	shown   int  // bytes of what is shown
}

func (c *collector) headFull() bool { return c.read >= maxHead }

func (c *collector) add(it *machine.Item) {
	if it.Kind == machine.ItemClear {
		if it.Wait {
			c.pending = true
		} else {
			c.blocks = nil
		}
		return
	}
	if c.pending {
		c.blocks, c.pending = nil, false
	}
	if it.Kind == machine.ItemOutput {
		c.text(it.Stream, strings.ToValidUTF8(string(it.Text), "\uFFFD"))
		return
	}
	forms := it.Representations
	for _, f := range forms {
		c.shown += len(f.Data)
	}
	if c.shown > maxShown {
		c.note("More was shown than is kept here.")
		return
	}
	if it.DisplayID != "" && it.Update {
		for i := range c.blocks {
			if c.blocks[i].id == it.DisplayID {
				c.blocks[i].forms = forms
			}
		}
		return
	}
	c.blocks = append(c.blocks, block{id: it.DisplayID, forms: forms})
}

func (c *collector) text(stream, text string) {
	c.read += len(text)
	if c.read > maxText {
		c.note("The rest of this output is left out.")
		return
	}
	if n := len(c.blocks); n == 0 || c.blocks[n-1].stream != stream {
		c.blocks = append(c.blocks, block{stream: stream})
	}
	last := &c.blocks[len(c.blocks)-1]
	last.text = append(last.text, text...)
}

// note says something of our own among the output, once in a row.
func (c *collector) note(sentence string) {
	if n := len(c.blocks); n > 0 && c.blocks[n-1].stream == noteStream && string(c.blocks[n-1].text) == sentence {
		return
	}
	c.blocks = append(c.blocks, block{stream: noteStream, text: []byte(sentence)})
}

// The streams of a step; noteStream is of what is our own.
const (
	stdoutStream = "stdout"
	stderrStream = "stderr"
	noteStream   = "note"
)

// plotlyMIME is what figures of Plotly's are.
const plotlyMIME = "application/vnd.plotly.v1+json"
