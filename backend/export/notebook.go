package export

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// notebook writes nbformat 4.5. Jupyter shows what a notebook of others brings along only as far as
// it is harmless.
type notebook struct {
	out   *bufio.Writer
	cells int
}

type cell struct {
	Type     string         `json:"cell_type"`
	ID       string         `json:"id"`
	Metadata map[string]any `json:"metadata"`
	Source   string         `json:"source"`
}

// codeCell has what a cell of text must not have.
type codeCell struct {
	Type      string         `json:"cell_type"`
	ID        string         `json:"id"`
	Metadata  map[string]any `json:"metadata"`
	Source    string         `json:"source"`
	Execution *int           `json:"execution_count"`
	Outputs   []any          `json:"outputs"`
}

type streamOutput struct {
	Type string `json:"output_type"` // stream
	Name string `json:"name"`
	Text string `json:"text"`
}

type dataOutput struct {
	Type      string         `json:"output_type"` // display_data, execute_result
	Execution *int           `json:"execution_count,omitempty"`
	Data      map[string]any `json:"data"`
	Metadata  struct{}       `json:"metadata"`
}

type errorOutput struct {
	Type      string   `json:"output_type"` // error
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

func (n *notebook) begin(m machine.Machine, at time.Time) {
	fmt.Fprint(n.out, `{"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}, "language_info": {"name": "python"}}, "cells": [`)
	n.put(cell{
		Type: "markdown", ID: "title", Metadata: map[string]any{},
		Source: fmt.Sprintf("# %s\n\nMachine %s, exported by ForeverVM on %s.", inline(title(m)), inline(m.Name), at.Format("2 January 2006")),
	})
}

func (n *notebook) step(s step) {
	told := map[string]any{"step": heading(s.Instruction)}
	if r := remark(s.Instruction); r != "" {
		told["remark"] = r
	}
	c := codeCell{
		Type: "code", ID: fmt.Sprintf("step-%d", s.Seq+1), Metadata: map[string]any{"forevervm": told}, Source: s.Code, Outputs: []any{},
	}
	if s.StartedAt != nil {
		count := s.Seq + 1
		c.Execution = &count
	}
	for i := range s.blocks {
		switch b := &s.blocks[i]; b.stream {
		case "":
			if data := bundle(b.forms); len(data) > 0 {
				c.Outputs = append(c.Outputs, dataOutput{Type: "display_data", Data: data})
			}
		case noteStream:
			c.Outputs = append(c.Outputs, streamOutput{"stream", "stderr", string(b.text) + "\n"})
		default:
			c.Outputs = append(c.Outputs, streamOutput{"stream", b.stream, string(b.text)})
		}
	}
	switch {
	case s.Status == machine.StatusError:
		lines := strings.Split(strings.TrimRight(s.Error, "\n"), "\n")
		_, value, _ := strings.Cut(lines[len(lines)-1], ": ")
		traceback := s.ErrorANSI
		if traceback == "" {
			traceback = s.Error
		}
		c.Outputs = append(c.Outputs, errorOutput{"error", s.ErrorName, value, strings.Split(strings.TrimRight(traceback, "\n"), "\n")})
	case s.Value != nil:
		data := bundle(s.Data)
		data["text/plain"] = *s.Value
		c.Outputs = append(c.Outputs, dataOutput{Type: "execute_result", Execution: c.Execution, Data: data})
	}
	n.put(c)
}

func (n *notebook) end() { fmt.Fprint(n.out, "\n]}\n") }

func (n *notebook) put(c any) {
	if n.cells > 0 {
		fmt.Fprint(n.out, ",")
	}
	n.cells++
	fmt.Fprint(n.out, "\n")
	text, err := json.Marshal(c)
	if err != nil { // of JSON that is none: bundle looks, so there is nothing to expect here
		text = []byte(`{"cell_type": "raw", "id": "lost-` + fmt.Sprint(n.cells) + `", "metadata": {}, "source": ""}`)
	}
	_, _ = n.out.Write(text)
}

// bundle is what is shown in each of its forms, without scripts.
func bundle(forms []machine.Representation) map[string]any {
	data := map[string]any{}
	for _, f := range forms {
		switch {
		case strings.Contains(f.MIME, "javascript"):
		case strings.HasSuffix(f.MIME, "json"):
			if json.Valid(f.Data) {
				data[f.MIME] = json.RawMessage(f.Data)
			}
		case f.IsText():
			data[f.MIME] = strings.ToValidUTF8(string(f.Data), "\uFFFD")
		default:
			data[f.MIME] = f.Data // in base64
		}
	}
	return data
}
