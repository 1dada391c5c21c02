package server

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/machine"
)

// maxWait is the longest that a request waits for what it is about.
const maxWait = time.Hour

func (s *Server) execute(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	in, err := queue(w, r, m)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, instructionJSON(m.Name(), in))
}

// run queues code and sends what comes of it.
func (s *Server) run(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	in, err := queue(w, r, m)
	if err != nil {
		return err
	}
	out := newLines(w)
	queued := instructionJSON(m.Name(), in)
	if err := sendMessage(out, api.StreamMessage{Instruction: &queued}); err != nil {
		return err
	}
	return stream(r.Context(), out, m, in.Seq, 0)
}

// queue queues the instruction in a request's body.
func queue(w http.ResponseWriter, r *http.Request, m machine.Handle) (machine.Instruction, error) {
	var body api.Execute
	if err := readJSON(w, r, &body); err != nil {
		return machine.Instruction{}, err
	}
	timeout, err := limit(body.TimeoutSeconds)
	if err != nil {
		return machine.Instruction{}, err
	}
	in, interrupted, err := m.Execute(r.Context(), machine.ExecuteOptions{
		Code: body.Code, Timeout: timeout, Interrupt: body.Interrupt, Formats: body.Formats, Client: clientOf(r), Summary: body.Summary, Key: body.Key,
	})
	if err == nil {
		w.Header().Set(headerInterrupted, strconv.FormatBool(interrupted))
	}
	return in, err
}

// install queues the instruction that installs packages.
func (s *Server) install(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	var body api.Install
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	code, err := api.InstallCode(body.Packages)
	if err != nil {
		return invalid("%v", err)
	}
	in, _, err := m.Execute(r.Context(), machine.ExecuteOptions{Code: code, Client: clientOf(r), Key: body.Key})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, instructionJSON(m.Name(), in))
}

func (s *Server) listInstructions(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	query := r.URL.Query()
	var wanted machine.InstructionQuery
	switch query.Get("order") {
	case "", "oldest":
	case "newest":
		wanted.Newest = true
	default:
		return invalid("The parameter order must be newest or oldest.")
	}
	var err error
	if wanted.Limit, err = queryInt(query, "limit", 1, 0); err != nil {
		return err
	}
	if query.Has("before") {
		before, err := queryInt(query, "before", 0, 0)
		if err != nil {
			return err
		}
		wanted.Before = &before
	}
	if query.Has("after") {
		after, err := queryInt(query, "after", -1, 0)
		if err != nil {
			return err
		}
		wanted.After = &after
	}
	found, err := m.Instructions(r.Context(), wanted)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list(found.Items, found.Next, func(in machine.Instruction) api.Instruction {
		return instructionJSON(m.Name(), in)
	}))
}

func (s *Server) listPlots(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	query := r.URL.Query()
	var wanted machine.PlotQuery
	var err error
	if wanted.Limit, err = queryInt(query, "limit", 1, 0); err != nil {
		return err
	}
	if cursor := query.Get("cursor"); cursor != "" {
		place, err := machine.ParsePlotPlace(cursor)
		if err != nil {
			return err
		}
		wanted.Before = &place
	}
	found, err := m.Plots(r.Context(), wanted)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list(found.Items, found.Next, func(p machine.Plot) api.Plot { return plotJSON(m.Name(), p) }))
}

// getInstruction answers with an instruction, waiting for its end where it was asked to.
func (s *Server) getInstruction(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	seq, err := pathInt(r, "seq")
	if err != nil {
		return err
	}
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	var in machine.Instruction
	if wait == 0 {
		in, err = m.Instruction(r.Context(), seq)
	} else {
		ctx, cancel := context.WithTimeout(r.Context(), wait)
		defer cancel()
		in, err = m.Wait(ctx, seq)
		if errors.Is(err, context.DeadlineExceeded) && r.Context().Err() == nil {
			in, err = m.Instruction(r.Context(), seq)
		}
	}
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, instructionJSON(m.Name(), in))
}

// interrupt interrupts what runs, or only the instruction that is named, if that is what runs.
func (s *Server) interrupt(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	seq, err := queryInt(r.URL.Query(), "seq", 0, -1)
	if err != nil {
		return err
	}
	if seq < 0 {
		err = m.Interrupt(r.Context())
	} else {
		err = m.InterruptInstruction(r.Context(), seq)
	}
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s.machineJSON(m.Machine()))
}

func (s *Server) cancelInstruction(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	seq, err := pathInt(r, "seq")
	if err != nil {
		return err
	}
	if err := m.Cancel(r.Context(), seq); err != nil {
		return err
	}
	return noContent(w)
}

// A page of items ends at this many, or once this many bytes are on it.
const (
	maxItems     = 1000
	maxItemBytes = 4 << 20
	itemsAtOnce  = 50
)

func (s *Server) listItems(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	seq, err := pathInt(r, "seq")
	if err != nil {
		return err
	}
	query := r.URL.Query()
	from, err := queryInt(query, "from", 0, 0)
	if err != nil {
		return err
	}
	wanted, err := queryInt(query, "limit", 1, maxItems)
	if err != nil {
		return err
	}
	wanted = min(wanted, maxItems)
	in, err := m.Instruction(r.Context(), seq)
	if err != nil {
		return err
	}
	answer := api.List[api.Item]{Items: []api.Item{}}
	for bytes := 0; len(answer.Items) < wanted && bytes < maxItemBytes; {
		items, err := m.Items(r.Context(), seq, from, min(itemsAtOnce, wanted-len(answer.Items)))
		if err != nil {
			return err
		}
		if len(items) == 0 {
			return writeJSON(w, http.StatusOK, answer)
		}
		for _, item := range items {
			answer.Items = append(answer.Items, itemJSON(m.Name(), seq, item))
			bytes += len(item.Text)
			for _, form := range item.Representations {
				bytes += min(len(form.Data), maxInline)
			}
			from = item.Index + 1
		}
	}
	if from < in.Items {
		answer.Next = strconv.Itoa(from)
	}
	return writeJSON(w, http.StatusOK, answer)
}

// streamInstruction sends items as they come and then the finished instruction.
func (s *Server) streamInstruction(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	seq, err := pathInt(r, "seq")
	if err != nil {
		return err
	}
	from, err := queryInt(r.URL.Query(), "from", 0, 0)
	if err != nil {
		return err
	}
	if _, err := m.Instruction(r.Context(), seq); err != nil {
		return err
	}
	out := newLines(w)
	if err := out.flush(); err != nil {
		return err
	}
	return stream(r.Context(), out, m, seq, from)
}

// stream sends an instruction's items from an index on as they come, and then the finished
// instruction.
func stream(ctx context.Context, out *lines, m machine.Handle, seq, from int) error {
	in, err := m.Follow(ctx, seq, from, func(item machine.Item) error {
		converted := itemJSON(m.Name(), seq, item)
		return sendMessage(out, api.StreamMessage{Item: &converted})
	})
	if err != nil {
		return err
	}
	converted := instructionJSON(m.Name(), in)
	return sendMessage(out, api.StreamMessage{Instruction: &converted})
}

func sendMessage(out *lines, message api.StreamMessage) error {
	line, err := encodeJSON(message)
	if err != nil {
		return err
	}
	if err := out.add(line); err != nil {
		return err
	}
	return out.flush()
}

// getData answers with the bytes of one representation. A machine made them: they are for saving,
// never for showing.
func (s *Server) getData(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	seq, err := pathInt(r, "seq")
	if err != nil {
		return err
	}
	n, err := pathInt(r, "n")
	if err != nil {
		return err
	}
	forms, err := forms(r, m, seq)
	if err != nil {
		return err
	}
	if n >= len(forms) {
		return &failure{http.StatusNotFound, "NotFound", "There is no such data. It may have been too large to be kept."}
	}
	mediaType := "application/octet-stream"
	if kind, _, err := mime.ParseMediaType(forms[n].MIME); err == nil {
		mediaType = kind
	}
	filename := m.Name() + "-" + strconv.Itoa(seq)
	if endings, _ := mime.ExtensionsByType(mediaType); len(endings) > 0 {
		filename += endings[0]
	}
	attachment(w, filename, mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(forms[n].Data)))
	_, err = w.Write(forms[n].Data)
	return err
}

// forms are the representations at the place that the path names: an item, or the result.
func forms(r *http.Request, m machine.Handle, seq int) ([]machine.Representation, error) {
	if r.PathValue("place") == "result" {
		in, err := m.Instruction(r.Context(), seq)
		return in.Data, err
	}
	index, err := pathInt(r, "place")
	if err != nil {
		return nil, err
	}
	items, err := m.Items(r.Context(), seq, index, 1)
	if err != nil || len(items) == 0 || items[0].Index != index {
		return nil, err
	}
	return items[0].Representations, nil
}

func (s *Server) getOutput(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	seq, err := pathInt(r, "seq")
	if err != nil {
		return err
	}
	output, err := m.Output(r.Context(), seq)
	if err != nil {
		return err
	}
	defer func() { _ = output.Close() }()
	attachment(w, m.Name()+"-"+strconv.Itoa(seq)+".txt", "text/plain; charset=utf-8")
	_, err = io.Copy(w, output)
	return err
}
