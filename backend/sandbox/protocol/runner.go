package protocol

import (
	"math"
	"slices"
	"time"
	"unicode/utf8"
)

// Types of frames from the runner.
const (
	TypeReady      = "ready"
	TypeStarted    = "started"
	TypeOutput     = "output"
	TypeDisplay    = "display"
	TypeClear      = "clear"
	TypeResult     = "result"
	TypeBackground = "background"
	TypeReply      = "reply"
)

// Bounds of what a runner may say.
const (
	MaxSeq       = 1 << 40
	MaxMIMEs     = 64
	maxMIMEName  = 256
	maxMIMEData  = 4 << 20
	maxChunk     = 64 << 10
	maxErrorName = 256
	maxShort     = 4 << 10
	maxQueued    = 256 // the daemon gives a runner one instruction at a time
)

// Resume is the first request after every start and every restore.
type Resume struct {
	Type         string            `json:"type"`
	Acked        [][2]int          `json:"acked"`
	Reseed       bool              `json:"reseed"`
	ReseedPython bool              `json:"reseed_python"`
	LimitBytes   *int64            `json:"limit_bytes"`
	Env          map[string]string `json:"env"`
	Formats      []string          `json:"formats"`
	Hostname     string            `json:"hostname"`
	Sync         string            `json:"sync,omitempty"`
	WayOut       string            `json:"way_out,omitempty"`
	// Rehearse has the runner run an instruction that leaves nothing, for the memory that it uses.
	Rehearse bool `json:"rehearse,omitempty"`
}

// Ready is the runner's answer to Resume.
type Ready struct {
	PID      int    `json:"pid"`
	Python   string `json:"python"`
	Baseline int64  `json:"baseline_bytes"`
	LastSeq  int    `json:"last_seq"`
	Running  *int   `json:"running"`
	Queued   []int  `json:"queued"`
	Sync     string `json:"sync"`
	// Trusts is the digest of the certificate authorities that the machine was given; empty where
	// it has those of its image.
	Trusts string `json:"trusts"`
	// Unshared is the supervisor's: why the machine does not see the folder that is shared with it;
	// empty where it does, and where none is.
	Unshared string `json:"unshared,omitempty"`
}

// Why a machine does not see the folder that is shared with it.
const (
	UnsharedGone    = "gone"    // it is not there, or the way to it leads over a link
	UnsharedRefused = "refused" // the system does not let it be mounted
)

// ParseReady reads and checks a ready frame.
func ParseReady(f Frame) (Ready, error) {
	r := Ready{LastSeq: -1}
	if err := f.Decode(&r); err != nil {
		return Ready{}, err
	}
	if len(r.Python) > maxShort || len(r.Trusts) > maxShort || r.LastSeq < -1 || r.LastSeq > MaxSeq || len(r.Queued) > maxQueued || r.Baseline < 0 {
		return Ready{}, violation("a ready frame out of bounds")
	}
	if r.Running != nil && !validSeq(*r.Running) {
		return Ready{}, violation("a ready frame with a running instruction %d", *r.Running)
	}
	for _, q := range r.Queued {
		if !validSeq(q) {
			return Ready{}, violation("a ready frame with a queued instruction %d", q)
		}
	}
	slices.Sort(r.Queued) // as they were given
	r.Queued = slices.Compact(r.Queued)
	return r, nil
}

// Numbered is what every frame that belongs to an instruction says.
type Numbered struct {
	Seq   int `json:"seq"`
	Index int `json:"index"`
}

// IsNumbered says whether frames of this type belong to an instruction.
func IsNumbered(typ string) bool {
	switch typ {
	case TypeStarted, TypeOutput, TypeDisplay, TypeClear, TypeResult:
		return true
	}
	return false
}

// ParseNumbered reads and checks the number of a frame that belongs to an instruction.
func ParseNumbered(f Frame) (Numbered, error) {
	n := Numbered{Seq: -1, Index: -1}
	if err := f.Decode(&n); err != nil {
		return n, err
	}
	return n, n.check(f.Type)
}

func (n Numbered) check(typ string) error {
	if !validSeq(n.Seq) || !validSeq(n.Index) {
		return violation("a %q frame with the number %d/%d", typ, n.Seq, n.Index)
	}
	return nil
}

func validSeq(n int) bool { return n >= 0 && n <= MaxSeq }

// Representation is one form of something rich, cut out of a payload.
type Representation struct {
	MIME string
	Data []byte
}

// Instruction is a numbered or background frame, checked. Which fields mean something follows from
// Type.
type Instruction struct {
	Numbered
	Type string

	At time.Time // started

	Stream string // output, background
	Data   []byte

	MIMEs     []Representation // display, result
	DisplayID string
	Update    bool
	Wait      bool // clear

	Runtime   time.Duration // result
	OK        bool
	ErrorName string
	Truncated bool
}

type instructionHeader struct {
	Numbered
	At        float64  `json:"at"`
	Stream    string   `json:"stream"`
	MIMEs     []mime   `json:"mimes"`
	DisplayID *string  `json:"display_id"`
	Update    bool     `json:"update"`
	Wait      bool     `json:"wait"`
	RuntimeMS *float64 `json:"runtime_ms"`
	Status    string   `json:"status"`
	EName     string   `json:"ename"`
	Truncated bool     `json:"truncated"`
}

// ParseInstruction checks a frame of a type that IsNumbered, or a background one.
func ParseInstruction(f Frame) (Instruction, error) {
	h := instructionHeader{Numbered: Numbered{Seq: -1, Index: -1}}
	if err := f.Decode(&h); err != nil {
		return Instruction{}, err
	}
	in := Instruction{Type: f.Type, Numbered: h.Numbered}
	if f.Type != TypeBackground {
		if err := in.check(f.Type); err != nil {
			return Instruction{}, err
		}
	}
	var err error
	switch f.Type {
	case TypeStarted:
		in.At, err = parseTime(h.At)
	case TypeOutput, TypeBackground:
		in.Stream, in.Data = h.Stream, f.Payload
		if h.Stream != "stdout" && h.Stream != "stderr" {
			err = violation("output of a stream %.32q", h.Stream)
		} else if len(f.Payload) > maxChunk {
			err = violation("%d bytes of output in one frame", len(f.Payload))
		}
	case TypeDisplay:
		in.Update = h.Update
		if h.DisplayID != nil {
			in.DisplayID = *h.DisplayID
		}
		if len(in.DisplayID) > maxShort {
			err = violation("a display with an endless id")
			break
		}
		in.MIMEs, err = cutMIMEs(h.MIMEs, f.Payload)
	case TypeClear:
		in.Wait = h.Wait
	case TypeResult:
		err = in.result(h, f.Payload)
	default:
		err = violation("a frame of the type %q", f.Type)
	}
	if err != nil {
		return Instruction{}, err
	}
	return in, nil
}

func (in *Instruction) result(h instructionHeader, payload []byte) error {
	switch h.Status {
	case "ok":
		in.OK = true
	case "error":
		if len(h.EName) > maxErrorName {
			return violation("a result with an endless error name")
		}
		in.ErrorName = h.EName
	default:
		return violation("a result with the status %.32q", h.Status)
	}
	if h.RuntimeMS != nil {
		ms := *h.RuntimeMS
		if math.IsNaN(ms) || ms < 0 || ms > 1e13 {
			return violation("a result with the running time %v", ms)
		}
		in.Runtime = time.Duration(ms * float64(time.Millisecond))
	}
	in.Truncated = h.Truncated
	var err error
	in.MIMEs, err = cutMIMEs(h.MIMEs, payload)
	return err
}

// parseTime reads Unix seconds; years far outside the machine's life are a violation, as they would
// not fit elsewhere.
func parseTime(sec float64) (time.Time, error) {
	if math.IsNaN(sec) || sec < 0 || sec > 253402300799 {
		return time.Time{}, violation("the time %v", sec)
	}
	whole, frac := math.Modf(sec)
	return time.Unix(int64(whole), int64(frac*1e9)).UTC(), nil
}

// cutMIMEs cuts the payload into the representations that the header lists; together they are
// exactly the payload.
func cutMIMEs(list []mime, payload []byte) ([]Representation, error) {
	if len(list) > MaxMIMEs {
		return nil, violation("%d representations", len(list))
	}
	out := make([]Representation, 0, len(list))
	for _, m := range list {
		if m.length < 0 || m.length > len(payload) {
			return nil, violation("a representation of %d bytes where %d are left", m.length, len(payload))
		}
		if m.length > maxMIMEData {
			return nil, violation("a representation of %d bytes", m.length)
		}
		if m.name == "" || len(m.name) > maxMIMEName || !printable(m.name) {
			return nil, violation("a representation of the type %.64q", m.name)
		}
		out = append(out, Representation{MIME: m.name, Data: payload[:m.length:m.length]})
		payload = payload[m.length:]
	}
	if len(payload) != 0 {
		return nil, violation("%d bytes that belong to no representation", len(payload))
	}
	return out, nil
}

func printable(s string) bool {
	for _, r := range s {
		if r < 0x20 || r == 0x7f || r == utf8.RuneError {
			return false
		}
	}
	return true
}
