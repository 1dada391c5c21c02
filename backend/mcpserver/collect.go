package mcpserver

import (
	"strings"

	"github.com/forevervm/desktop/backend/api"
)

// collected is what one instruction put out, as far as a reply needs it: the text as on a screen,
// with the plain forms of tables and the like in their places, and its pictures in order.
type collected struct {
	screen   *screen
	pictures []shown
	clear    bool // clear everything when the next item comes
}

// shown is one picture; id is set when it can be replaced in place.
type shown struct {
	rep api.Representation
	id  string
}

func collect(limit int) *collected { return &collected{screen: newScreen(limit)} }

// add takes the next item. It returns the text that the item adds, for a progress message.
func (c *collected) add(item api.Item) string {
	if c.clear && item.Kind != "clear" {
		c.wipe()
	}
	switch item.Kind {
	case "clear":
		if c.clear = item.Wait; !item.Wait {
			c.wipe()
		}
	case "display":
		if rep, ok := pictureOf(item.Representations); ok {
			c.draw(rep, item)
		}
	}
	text := textOf(item)
	c.screen.write(text)
	return text
}

// textOf is what an item adds to the text of its instruction, in which read-output counts its
// offsets: what was printed, or the plain form of what was displayed and is no picture.
func textOf(item api.Item) string {
	if item.Kind == "output" {
		return item.Text
	}
	if _, ok := pictureOf(item.Representations); ok {
		return ""
	}
	text := plainForm(item.Representations)
	if text == "" {
		return ""
	}
	return strings.TrimSuffix(text, "\n") + "\n"
}

func (c *collected) wipe() {
	c.clear = false
	c.screen.clear()
	c.pictures = nil
}

// draw adds a picture, or puts it in the place of the one that it updates.
func (c *collected) draw(rep api.Representation, item api.Item) {
	if item.Update && item.DisplayID != "" {
		for i, p := range c.pictures {
			if p.id == item.DisplayID {
				c.pictures[i].rep = rep
				return
			}
		}
	}
	c.pictures = append(c.pictures, shown{rep: rep, id: item.DisplayID})
}

// end adds what the value of the finished instruction shows.
func (c *collected) end(in api.Instruction) {
	if rep, ok := pictureOf(in.Data); ok {
		c.pictures = append(c.pictures, shown{rep: rep})
	}
}

// pictureOf returns the form that a model can look at.
func pictureOf(reps []api.Representation) (api.Representation, bool) {
	for _, mime := range []string{"image/png", "image/jpeg"} {
		for _, rep := range reps {
			if rep.MIME == mime {
				return rep, true
			}
		}
	}
	return api.Representation{}, false
}

// plainForm returns the form that reads best as text, or names what was shown.
func plainForm(reps []api.Representation) string {
	for _, mime := range []string{"text/markdown", "text/plain", "application/json", "text/latex"} {
		for _, rep := range reps {
			if rep.MIME == mime && rep.Text != "" {
				return rep.Text
			}
		}
	}
	for _, rep := range reps {
		return "[" + rep.MIME + " was shown to the person]"
	}
	return ""
}
