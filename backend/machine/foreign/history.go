package foreign

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/output"
)

// MaxHistory is how many instructions a machine's file may have.
const MaxHistory = 1 << 20

const (
	maxState       = 1 << 40  // bytes
	maxBaseline    = 2 << 30  // bytes: the machine may have so much beyond its limit
	maxHistorySize = 16 << 30 // bytes of all that it says
)

// State checks the state of a machine, and returns how many bytes its files take.
func State(st machine.SavedState) (size int64, err error) {
	for _, f := range st.Files {
		if f.Size < 0 || f.Size > maxState-size {
			return 0, Strange("its state has a size that none can have")
		}
		size += f.Size
	}
	switch {
	case st.LastSeq < -1 || st.LastSeq >= MaxHistory:
		return 0, Strange("its history has a length that none can have")
	case !plausible(st.Needs):
		return 0, Strange("what it says about the computer that it comes from makes no sense")
	case st.Baseline < 0 || st.Baseline > maxBaseline:
		return 0, Strange("its numbers cannot be right")
	}
	return size, nil
}

// plausible says whether needs are such as can be written down.
func plausible(n machine.Needs) bool {
	const maxFeatures, maxName = 512, 32
	for _, f := range n.Features {
		if f == "" || len(f) > maxName || strings.Trim(f, "abcdefghijklmnopqrstuvwxyz0123456789_.-") != "" {
			return false
		}
	}
	return len(n.Features) <= maxFeatures
}

// History takes over the history of a machine, within one write.
type History struct {
	w      machine.Writer
	rec    *machine.MachineRecord
	kept   output.Kept
	limits output.Limits
	now    time.Time
	next   int   // the number of the next instruction
	room   int64 // bytes that may still come: a few in the file may be many here
	lost   []machine.Span
}

// NewHistory takes over the history of rec, up to its NextSeq. It takes at most room bytes. rec is
// the caller's; its use changes with each instruction.
func NewHistory(w machine.Writer, rec *machine.MachineRecord, kept output.Kept, limits output.Limits, room int64) *History {
	return &History{w: w, rec: rec, kept: kept, limits: limits, now: time.Now().UTC(), room: min(maxHistorySize, room)}
}

// End returns which instructions have lost their effect, or an error where some are missing.
func (h *History) End() ([]machine.Span, error) {
	if h.next != h.rec.NextSeq {
		return nil, Strange("its history ends too early")
	}
	return h.lost, nil
}

// Take takes over one instruction.
func (h *History) Take(t machine.Told) error {
	in := machine.InstructionRecord{Instruction: t.Instruction}
	size, err := Instruction(&in.Instruction, h.next, h.rec.NextSeq)
	if err == nil {
		err = h.fits(size + rowTakes)
	}
	if err != nil {
		return err
	}
	h.next++
	if in.RolledBack {
		if n := len(h.lost); n > 0 && h.lost[n-1].To == in.Seq-1 {
			h.lost[n-1].To = in.Seq
		} else {
			h.lost = append(h.lost, machine.Span{From: in.Seq, To: in.Seq})
		}
	}
	in.Machine = h.rec.ID
	in.Notice = "" // it would be shown as our own words
	in.Client = in.Client.Clean()
	in.QueuedAt = Past(in.QueuedAt, h.now)
	for _, at := range []**time.Time{&in.StartedAt, &in.EndedAt} {
		if *at != nil {
			then := Past(**at, h.now)
			*at = &then
		}
	}
	in.LastFrame = math.MaxInt32 // whatever its runner still says of it
	in.OutputBytes = in.OutputDropped
	opener := h.rec.Client
	h.rec.UsedBy(in.Instruction) // for what its code says that it is for
	h.rec.Client = opener
	if err := h.w.AddInstruction(in); err != nil {
		return err
	}
	text, err := h.items(&in, t.Items)
	if err != nil {
		return err
	}
	if err := h.w.PutInstruction(in); err != nil {
		return err
	}
	return h.w.Index(in.Instruction, text)
}

// rowTakes is how many bytes an instruction or an item takes beside what it says, roughly.
const rowTakes = 200

// fits says whether there is room for so many bytes more.
func (h *History) fits(size int) error {
	if h.room -= int64(size); h.room < 0 {
		return &machine.Error{Kind: machine.ErrDiskFull, Message: "The history of this machine takes more than the disk has room for. Nothing was opened. " + machine.FreeSpace}
	}
	return nil
}

// items spreads an instruction's output over rows and overflow file as if it came from a sandbox,
// and returns the beginning of its text.
func (h *History) items(in *machine.InstructionRecord, each func(func(machine.Item) error) error) (text string, err error) {
	out := output.Layout{Limits: h.limits}
	var tail []machine.StoredItem // those that may still have to leave
	next := 0
	var begin []byte
	err = each(func(it machine.Item) error {
		if it.Index < next || it.Index >= in.Items {
			return Strange("its history has output that is out of order")
		}
		size, err := Item(&it)
		if err == nil {
			err = h.fits(size + rowTakes)
		}
		if err != nil {
			return err
		}
		next = it.Index + 1
		it.At = Past(it.At, h.now)
		in.OutputBytes += int64(len(it.Text))
		begin = append(begin, it.Text[:min(len(it.Text), output.Searchable-len(begin))]...)
		before := in.HeadEnd
		stored := machine.StoredItem{Item: it, Frame: in.LastFrame}
		evicted := out.Place(in, []machine.StoredItem{stored})
		if in.HeadEnd > before {
			return h.w.AddItems(in.Machine, in.Seq, []machine.StoredItem{stored})
		}
		tail = append(tail, stored)
		if len(evicted) > 0 {
			h.kept.Spill(in, output.Plain(tail[:len(evicted)]), h.limits.File)
			tail = slices.Clone(tail[len(evicted):])
		}
		return nil
	})
	if err == nil {
		err = h.w.AddItems(in.Machine, in.Seq, tail)
	}
	return string(begin), err
}
