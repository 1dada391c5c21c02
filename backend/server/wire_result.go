package server

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/wire"
)

// relayTo is where an instruction's messages go.
type relayTo struct {
	send func(wire.FromServer) error
	// together runs a function that calls send several times, and sends it all once it returns.
	together func(func() error) error
}

// relay sends an instruction's output line by line, what is stored first and then what comes, and
// its result.
func relay(ctx context.Context, m machine.Handle, seq int, to relayTo) error {
	var lines wire.Lines
	var figure []machine.Representation
	chunk := func(c wire.Chunk) error { return to.send(wire.Output{InstructionID: seq, Chunk: c}) }
	in, err := m.Follow(ctx, seq, 0, func(item machine.Item) error {
		switch {
		case item.Background:
			// Written after the result, which nothing may follow here.
			return nil
		case item.Kind == machine.ItemOutput:
			return to.together(func() error { return lines.Write(item.Stream, item.Text, chunk) })
		case item.Kind == machine.ItemClear:
			figure = nil
		case isFigure(item):
			figure = item.Representations
		}
		return nil
	})
	if err != nil {
		return err
	}
	return to.together(func() error {
		if err := lines.Close(chunk); err != nil {
			return err
		}
		if in.Notice != "" {
			if err := to.send(wire.Message{Message: in.Notice, Level: "warn"}); err != nil {
				return err
			}
		}
		return to.send(wire.Result{InstructionID: seq, Result: execResult(in, figure)})
	})
}

// execResult is a finished instruction as the wire tells it. A figure that it showed stands in for
// a picture of its value.
func execResult(in machine.Instruction, figure []machine.Representation) wire.ExecResult {
	result := wire.ExecResult{RuntimeMS: in.Runtime.Milliseconds(), Notice: in.Notice}
	if in.Status != machine.StatusOK {
		text := in.Error
		if text == "" {
			text = in.ErrorName
		}
		result.Error = &text
		result.Fit()
		return result
	}
	result.Value = in.Value
	data := richData(in.Data)
	if data.PNG == nil {
		shown := richData(figure)
		data.PNG = shown.PNG
		if data.SVG == "" {
			data.SVG = shown.SVG
		}
	}
	if !data.Empty() {
		result.Data = &data
	}
	result.Fit()
	return result
}

// richData sorts representations under their short names; others are left out.
func richData(forms []machine.Representation) wire.Data {
	var data wire.Data
	for _, form := range forms {
		text := func() string { return strings.ToValidUTF8(string(form.Data), "\uFFFD") }
		switch form.MIME {
		case "image/png":
			data.PNG = form.Data
		case "image/svg+xml":
			data.SVG = text()
		case "text/html":
			data.HTML = text()
		case "text/markdown":
			data.Markdown = text()
		case "text/latex":
			data.LaTeX = text()
		case "application/json":
			data.JSON = rawJSON(form.Data)
		case "application/vnd.plotly.v1+json":
			data.Plotly = rawJSON(form.Data)
		}
	}
	return data
}

// rawJSON is what the machine calls JSON, if it is.
func rawJSON(data []byte) json.RawMessage {
	if !json.Valid(data) {
		return nil
	}
	return data
}

func isFigure(item machine.Item) bool {
	if item.Kind != machine.ItemDisplay {
		return false
	}
	for _, form := range item.Representations {
		if form.MIME == "image/png" || form.MIME == "image/svg+xml" {
			return true
		}
	}
	return false
}
