package wire

import "encoding/json"

// ExecResult is how an instruction ended: with an error, or with a value.
type ExecResult struct {
	RuntimeMS int64
	Error     *string // nil for success
	Value     *string // repr() of the last expression; nil when there is none
	Data      *Data   // nil when the value is plain
	// Notice tells that something happened to the machine's state, such as a return to an earlier
	// checkpoint. It is this project's addition, a key that the SDKs ignore; absent when empty.
	Notice string
}

// Data are the rich forms of a value. The Rust SDK compares the whole to nothing for a plain value,
// so an empty one is left out rather than sent.
type Data struct {
	PNG      []byte          `json:"png,omitempty"` // base64 on the wire
	SVG      string          `json:"svg,omitempty"`
	HTML     string          `json:"html,omitempty"`
	Markdown string          `json:"markdown,omitempty"`
	LaTeX    string          `json:"latex,omitempty"`
	JSON     json.RawMessage `json:"json,omitempty"`
	Plotly   json.RawMessage `json:"plotly,omitempty"`
}

// Empty says whether there is nothing rich.
func (d *Data) Empty() bool {
	return d == nil || len(d.PNG) == 0 && d.SVG == "" && d.HTML == "" && d.Markdown == "" && d.LaTeX == "" &&
		len(d.JSON) == 0 && len(d.Plotly) == 0
}

type errorJSON struct {
	RuntimeMS int64  `json:"runtime_ms"`
	Error     string `json:"error"`
	Notice    string `json:"notice,omitempty"`
}

type valueJSON struct {
	RuntimeMS int64   `json:"runtime_ms"`
	Value     *string `json:"value"`
	Data      *Data   `json:"data,omitempty"`
	Notice    string  `json:"notice,omitempty"`
}

// MarshalJSON keeps the keys apart: JavaScript tells success by an absent error, failure by an
// absent value; a value of null is sent.
func (r ExecResult) MarshalJSON() ([]byte, error) {
	if r.Error != nil {
		return marshal(errorJSON{RuntimeMS: r.RuntimeMS, Error: *r.Error, Notice: r.Notice})
	}
	out := valueJSON{RuntimeMS: r.RuntimeMS, Value: r.Value, Notice: r.Notice}
	if !r.Data.Empty() {
		out.Data = r.Data
	}
	return marshal(out)
}

// UnmarshalJSON reads either kind.
func (r *ExecResult) UnmarshalJSON(data []byte) error {
	var in struct {
		RuntimeMS int64   `json:"runtime_ms"`
		Error     *string `json:"error"`
		Value     *string `json:"value"`
		Data      *Data   `json:"data"`
		Notice    string  `json:"notice"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*r = ExecResult(in)
	return nil
}
