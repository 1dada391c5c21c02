package link

import (
	"testing"
	"testing/synctest"

	"github.com/forevervm/desktop/backend/machine"
)

// However many frames a machine forges, only so many bytes of them wait, and all come in order when
// somebody reads.
func TestWaitingIsBounded(t *testing.T) {
	for name, c := range map[string]struct{ size, most int }{
		"small frames": {100, maxFrames + 1},
		"large frames": {8 << 20, 3},
		"a giant":      {1 << 30, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const all = 200
				w, frames := newWaiting(), make(chan machine.Frame)
				added := 0
				go func() {
					defer w.close()
					for seq := range all {
						w.add(machine.Frame{Seq: seq}, c.size)
						added++
					}
				}()
				go w.deliver(frames)
				synctest.Wait()
				if added == 0 || added > c.most {
					t.Errorf("%d frames of %d bytes wait", added, c.size)
				}
				next := 0
				for f := range frames {
					if f.Seq != next {
						t.Fatalf("frame %d comes after %d others", f.Seq, next)
					}
					next++
				}
				if next != all {
					t.Errorf("%d frames came of %d", next, all)
				}
			})
		})
	}
}

// What a machine says becomes one line without anything that could act on a terminal or hide.
func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"a sentence, with ä and 日本.":                "a sentence, with ä and 日本.",
		"\x1b[2Jcleared\r\nUpdate \u202eat\u2066 x": "[2Jcleared Update at x",
		"\u009b31m \u200bzero\u2028width \xff":      "31m zero width \uFFFD",
		"0123456789012345678901234567890123456789ä": "0123456789012345678901234567890123456789",
	} {
		if got := plain(in, 41); got != want {
			t.Errorf("%q becomes %q, not %q", in, got, want)
		}
	}
}
