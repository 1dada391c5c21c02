package parcel

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// The history is entries, each an instruction or an item of the output of the last one.
const (
	entryInstruction = 1
	entryItem        = 2

	maxEntryHead = 256 << 10
	maxEntry     = 64 << 20 // bytes of content
)

// told is the head of an instruction; its content are code, value, error, error with colours, and
// the forms, one after another.
type told struct {
	Seq           int      `json:"seq"`
	Client        string   `json:"client"`
	ClientVersion string   `json:"client_version"`
	Summary       string   `json:"summary,omitempty"`
	Timeout       int64    `json:"timeout_ns"`
	Formats       []string `json:"formats"`
	Status        string   `json:"status"`
	QueuedAt      int64    `json:"queued_at"`
	StartedAt     *int64   `json:"started_at"`
	EndedAt       *int64   `json:"ended_at"`
	Runtime       int64    `json:"runtime_ns"`
	ErrorName     string   `json:"error_name"`
	RolledBack    bool     `json:"rolled_back"`
	Items         int      `json:"items"`
	OutputDropped int64    `json:"output_dropped"`
	Code          int      `json:"code"`
	Value         *int     `json:"value"`
	Error         int      `json:"error"`
	ErrorANSI     int      `json:"error_ansi"`
	Forms         []form   `json:"forms"`
}

// item is the head of an item; its content is its text, or the forms.
type item struct {
	Index      int    `json:"index"`
	Kind       string `json:"kind"`
	At         int64  `json:"at"`
	Stream     string `json:"stream"`
	Background bool   `json:"background"`
	DisplayID  string `json:"display_id"`
	Update     bool   `json:"update"`
	Wait       bool   `json:"wait"`
	Text       int    `json:"text"`
	Forms      []form `json:"forms"`
}

type form struct {
	MIME string `json:"mime"`
	Size int    `json:"size"`
}

// writeEntry writes one entry.
func writeEntry(w io.Writer, kind byte, head any, parts ...[]byte) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if len(text) > maxEntryHead || size > maxEntry {
		return errors.New("an entry of a history is too large")
	}
	b := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(text)))
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	for _, part := range append([][]byte{b, text}, parts...) {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

func writeInstruction(w io.Writer, in *machine.Instruction) error {
	h := told{
		Seq: in.Seq, Client: in.Client.Name, ClientVersion: in.Client.Version, Summary: in.Summary, Timeout: int64(in.Timeout), Formats: in.Formats, Status: string(in.Status),
		QueuedAt: in.QueuedAt.UnixNano(), StartedAt: nano(in.StartedAt), EndedAt: nano(in.EndedAt), Runtime: int64(in.Runtime), ErrorName: in.ErrorName,
		RolledBack: in.RolledBack, Items: in.Items, OutputDropped: in.OutputDropped,
		Code: len(in.Code), Error: len(in.Error), ErrorANSI: len(in.ErrorANSI), Forms: shapes(in.Data),
	}
	value := ""
	if in.Value != nil {
		n := len(*in.Value)
		h.Value, value = &n, *in.Value
	}
	parts := [][]byte{[]byte(in.Code), []byte(value), []byte(in.Error), []byte(in.ErrorANSI)}
	return writeEntry(w, entryInstruction, h, append(parts, contents(in.Data)...)...)
}

func writeItem(w io.Writer, it *machine.Item) error {
	h := item{
		Index: it.Index, Kind: string(it.Kind), At: it.At.UnixNano(), Stream: it.Stream, Background: it.Background,
		DisplayID: it.DisplayID, Update: it.Update, Wait: it.Wait, Text: len(it.Text), Forms: shapes(it.Representations),
	}
	return writeEntry(w, entryItem, h, append([][]byte{it.Text}, contents(it.Representations)...)...)
}

func nano(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	n := t.UnixNano()
	return &n
}

func fromNano(n int64) time.Time { return time.Unix(0, n).UTC() }

func fromNanoPtr(n *int64) *time.Time {
	if n == nil {
		return nil
	}
	t := fromNano(*n)
	return &t
}

func shapes(data []machine.Representation) (forms []form) {
	for _, d := range data {
		forms = append(forms, form{d.MIME, len(d.Data)})
	}
	return forms
}

func contents(data []machine.Representation) (parts [][]byte) {
	for _, d := range data {
		parts = append(parts, d.Data)
	}
	return parts
}

// entries reads a history.
type entries struct {
	from    io.Reader
	kind    byte // of the entry that was read last and not taken; 0 for none
	head    []byte
	content []byte
}

// peek reads the next entry unless one waits to be taken, and returns its kind; 0 where there is
// none.
func (e *entries) peek() (byte, error) {
	if e.kind != 0 {
		return e.kind, nil
	}
	var b [9]byte
	if _, err := io.ReadFull(e.from, b[:1]); errors.Is(err, io.EOF) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(e.from, b[1:]); err != nil {
		return 0, notRead(err, "its history ends too early")
	}
	head, content := binary.LittleEndian.Uint32(b[1:5]), binary.LittleEndian.Uint32(b[5:])
	if b[0] != entryInstruction && b[0] != entryItem || head > maxEntryHead || content > maxEntry {
		return 0, damaged("its history has something of no known kind")
	}
	var err error
	if e.head, err = readPart(e.from, int(head)); err == nil {
		e.content, err = readPart(e.from, int(content))
	}
	if err != nil {
		return 0, err
	}
	e.kind = b[0]
	return e.kind, nil
}

// readPart reads n bytes. Room is made for what has come, not for what was announced.
func readPart(from io.Reader, n int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(from, int64(n)))
	if err == nil && len(b) < n {
		err = damaged("its history ends too early")
	}
	return b, err
}

// take reads the head of the entry that waits.
func (e *entries) take(head any) error {
	e.kind = 0
	if json.Unmarshal(e.head, head) != nil {
		return damaged("its history makes no sense")
	}
	return nil
}

// cut cuts n bytes off the content.
func (e *entries) cut(n int) ([]byte, error) {
	if n < 0 || n > len(e.content) {
		return nil, damaged("its history has lengths that do not fit")
	}
	b := e.content[:n:n]
	e.content = e.content[n:]
	return b, nil
}

// forms cuts the forms off the content, which end it.
func (e *entries) forms(shapes []form) (data []machine.Representation, err error) {
	for _, s := range shapes {
		b, err := e.cut(s.Size)
		if err != nil {
			return nil, err
		}
		data = append(data, machine.Representation{MIME: s.MIME, Data: b})
	}
	if len(e.content) > 0 {
		return nil, damaged("its history has lengths that do not fit")
	}
	return data, nil
}

func (e *entries) instruction() (in machine.Instruction, err error) {
	var h told
	if err := e.take(&h); err != nil {
		return in, err
	}
	in = machine.Instruction{
		Seq: h.Seq, Client: machine.Client{Name: h.Client, Version: h.ClientVersion}, Summary: h.Summary, Timeout: time.Duration(h.Timeout), Formats: h.Formats,
		Status: machine.InstructionStatus(h.Status), QueuedAt: fromNano(h.QueuedAt), StartedAt: fromNanoPtr(h.StartedAt), EndedAt: fromNanoPtr(h.EndedAt),
		Runtime: time.Duration(h.Runtime), ErrorName: h.ErrorName, RolledBack: h.RolledBack, Items: h.Items, OutputDropped: h.OutputDropped,
	}
	lengths := []int{h.Code, 0, h.Error, h.ErrorANSI}
	if h.Value != nil {
		lengths[1] = *h.Value
	}
	var texts [4]string
	for i, n := range lengths {
		b, err := e.cut(n)
		if err != nil {
			return in, err
		}
		texts[i] = string(b)
	}
	in.Code, in.Error, in.ErrorANSI = texts[0], texts[2], texts[3]
	if h.Value != nil {
		in.Value = &texts[1]
	}
	in.Data, err = e.forms(h.Forms)
	return in, err
}

func (e *entries) item() (it machine.Item, err error) {
	var h item
	if err := e.take(&h); err != nil {
		return it, err
	}
	it = machine.Item{
		Index: h.Index, Kind: machine.ItemKind(h.Kind), At: fromNano(h.At), Stream: h.Stream, Background: h.Background,
		DisplayID: h.DisplayID, Update: h.Update, Wait: h.Wait,
	}
	if it.Text, err = e.cut(h.Text); err != nil {
		return it, err
	}
	it.Representations, err = e.forms(h.Forms)
	return it, err
}

// each calls yield with every instruction of a history.
func (e *entries) each(ctx context.Context, yield func(machine.Told) error) error {
	for {
		kind, err := e.peek()
		if err != nil || kind == 0 {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if kind != entryInstruction {
			return damaged("its history begins with output of nothing")
		}
		in, err := e.instruction()
		if err != nil {
			return err
		}
		items := func(yield func(machine.Item) error) error { return e.items(ctx, yield) }
		err = yield(machine.Told{Instruction: in, Items: items})
		if err == nil {
			err = items(func(machine.Item) error { return nil }) // that nobody wanted
		}
		if err != nil {
			return err
		}
	}
}

// items calls yield with the items up to the next instruction.
func (e *entries) items(ctx context.Context, yield func(machine.Item) error) error {
	for {
		kind, err := e.peek()
		if err != nil || kind != entryItem {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		it, err := e.item()
		if err != nil {
			return err
		}
		if err := yield(it); err != nil {
			return err
		}
	}
}
