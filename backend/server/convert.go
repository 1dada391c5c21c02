package server

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// maxInline is the most bytes of a textual representation that come along with its instruction or
// item.
const maxInline = 256 << 10

func (s *Server) machineJSON(m machine.Machine) api.Machine {
	out := api.Machine{
		ID: string(m.ID), Name: m.Name, Title: m.Title, Owner: s.ownerName(m.Owner), DerivedTitle: m.DerivedTitle, Tags: m.Tags, Engine: m.Engine, Image: m.Image, MemoryMB: m.MemoryMB,
		State: string(m.State), Notice: m.Notice, Paused: m.Paused, Failed: m.Failed, Waits: m.Waits, CreatedAt: m.CreatedAt.UTC(), LastActiveAt: m.LastActiveAt.UTC(),
		ExpiresAt: utc(m.ExpiresAt), DeletedAt: utc(m.DeletedAt), NextSeq: m.NextSeq, RunningSeq: m.RunningSeq, Queued: m.Queued,
		Network: networkJSON(m.Network), Branch: m.Branch, Undo: m.Undo,
	}
	if out.Tags == nil {
		out.Tags = map[string]string{}
	}
	if m.Client.Name != "" {
		out.Client = &api.Client{Name: m.Client.Name, Version: m.Client.Version}
	}
	if m.Parent != nil {
		out.Parent = &api.Parent{ID: string(m.Parent.ID), Name: m.Parent.Name, LastSeq: m.Parent.LastSeq}
	}
	if m.Memory != nil {
		out.Stats = &api.Stats{MemoryBytes: m.Memory.MemoryBytes, UsedBytes: m.Memory.UsedBytes, CPUSeconds: m.Memory.CPUSeconds}
	}
	if m.Shared != nil {
		out.Shared = &api.SharedFolder{Path: m.Shared.Path, Writable: m.Shared.Writable, Problem: strings.TrimSpace(m.Unshared + " " + m.CameUp)}
	}
	if m.Disk != nil {
		out.Disk = &api.Disk{UsedBytes: m.Disk.Used, SizeBytes: m.Disk.Size}
	}
	return out
}

// headline is what an instruction does, as its sender said, or as its code says.
func headline(said, code string) (summary string, does []api.Act) {
	if summary = cmp.Or(said, naming.Says(code)); summary != "" {
		return summary, nil
	}
	for _, act := range naming.Does(code) {
		does = append(does, api.Act{What: string(act.What), Names: act.Names})
	}
	return "", does
}

// instructionJSON is an instruction of the machine with that name.
func instructionJSON(name string, in machine.Instruction) api.Instruction {
	summary, does := headline(in.Summary, in.Code)
	return api.Instruction{
		Machine: name, Seq: in.Seq, Code: in.Code, Client: api.Client{Name: in.Client.Name, Version: in.Client.Version}, Summary: summary, Does: does,
		TimeoutSeconds: in.Timeout.Seconds(), Status: string(in.Status), QueuedAt: in.QueuedAt.UTC(),
		StartedAt: utc(in.StartedAt), EndedAt: utc(in.EndedAt), RuntimeMS: in.Runtime.Milliseconds(), Value: in.Value,
		ErrorName: in.ErrorName, Error: in.Error, ErrorANSI: in.ErrorANSI, Data: representations(name, in.Seq, "result", in.Data),
		RolledBack: in.RolledBack, Notice: in.Notice, Items: in.Items, OutputBytes: in.OutputBytes, OutputDropped: in.OutputDropped,
	}
}

func itemJSON(name string, seq int, item machine.Item) api.Item {
	return api.Item{
		Index: item.Index, Kind: string(item.Kind), At: item.At.UTC(), Stream: item.Stream, Text: text(item.Text),
		Background: item.Background, Representations: representations(name, seq, strconv.Itoa(item.Index), item.Representations),
		DisplayID: item.DisplayID, Update: item.Update, Wait: item.Wait,
	}
}

// representations lists forms of something rich. Text comes along where it is short, all of it can
// be fetched.
func representations(name string, seq int, place string, forms []machine.Representation) []api.Representation {
	var out []api.Representation
	for n, form := range forms {
		one := api.Representation{
			MIME: text([]byte(form.MIME)), Size: int64(form.Size()),
			Href: "/api/machines/" + url.PathEscape(name) + "/instructions/" + strconv.Itoa(seq) + "/data/" + place + "/" + strconv.Itoa(n),
		}
		if form.IsText() && form.Omitted == 0 && form.Size() <= maxInline {
			one.Text = text(form.Data)
		}
		out = append(out, one)
	}
	return out
}

func plotJSON(name string, p machine.Plot) api.Plot {
	place := "result"
	if p.Item >= 0 {
		place = strconv.Itoa(p.Item)
	}
	return api.Plot{Seq: p.Seq, Place: place, At: p.At.UTC(), Representations: representations(name, p.Seq, place, p.Representations)}
}

func checkpointJSON(c machine.Checkpoint) api.Checkpoint {
	return api.Checkpoint{
		ID: c.ID, Kind: string(c.Kind), Label: c.Label, CreatedAt: c.CreatedAt.UTC(), LastSeq: c.LastSeq, RunningSeq: c.RunningSeq, Size: c.Size,
		PauseMS: float64(c.Pause) / float64(time.Millisecond), Parent: c.Parent, Branch: c.Branch, Present: c.Present,
	}
}

func contentsJSON(c machine.Contents) api.Contents {
	return api.Contents{Variables: list(c.Variables, "", variableJSON).Items, Files: list(c.Files, "", fileJSON).Items, Partial: c.Partial}
}

func branchJSON(b machine.Branch) api.Branch {
	return api.Branch{Name: b.Name, Named: b.Named, Checkpoint: b.Checkpoint, LastSeq: b.LastSeq, Steps: b.Steps, LeftAt: b.LeftAt.UTC()}
}

func comparisonJSON(c machine.Comparison) api.Comparison {
	out := api.Comparison{
		From: pointJSON(c.A), To: pointJSON(c.B), Variables: []api.VariableChange{}, Unsure: []string{}, Files: []api.FileChange{},
		OnlyFrom: steps(c.OnlyA), OnlyTo: steps(c.OnlyB), Partial: c.Partial,
	}
	for _, v := range c.Variables {
		change := api.VariableChange{Name: v.Name, Change: string(v.Change)}
		if v.Before != nil {
			before := variableJSON(*v.Before)
			change.Before = &before
		}
		if v.After != nil {
			after := variableJSON(*v.After)
			change.After = &after
		}
		for _, c := range v.Columns {
			change.Columns = append(change.Columns, api.ColumnChange{Name: c.Name, Before: c.Before, After: c.After})
		}
		out.Variables = append(out.Variables, change)
	}
	out.Unsure = append(out.Unsure, c.Unsure...)
	for _, f := range c.Files {
		change := api.FileChange{Path: f.Path, Change: string(f.Change), Unsure: f.Unsure}
		if f.Before != nil {
			before := fileJSON(*f.Before)
			change.Before = &before
		}
		if f.After != nil {
			after := fileJSON(*f.After)
			change.After = &after
		}
		out.Files = append(out.Files, change)
	}
	return out
}

func pointJSON(p machine.Point) api.Point {
	out := api.Point{Checkpoint: p.Checkpoint, Present: p.Present, Label: p.Label, Branch: p.Branch, LastSeq: p.LastSeq}
	if !p.CreatedAt.IsZero() {
		out.CreatedAt = utc(&p.CreatedAt)
	}
	return out
}

func steps(all []machine.Step) []api.ComparedStep {
	out := []api.ComparedStep{}
	for _, step := range all {
		out = append(out, api.ComparedStep{Seq: step.Seq, Title: step.Title})
	}
	return out
}

func engineJSON(e machine.EngineStatus) api.Engine {
	out := api.Engine{Name: e.Name, Default: e.Default, Notes: e.Notes}
	if e.Busy != nil {
		out.Busy = &api.Progress{What: e.Busy.What, DoneBytes: e.Busy.Done, TotalBytes: e.Busy.Total}
	}
	for _, problem := range e.Problems {
		out.Problems = append(out.Problems, api.Problem{What: problem.What, Do: problem.Do})
	}
	return out
}

func (s *Server) statusJSON(status machine.Status) api.Status {
	out := api.Status{
		Version: s.config.Version, PID: pid, Home: s.config.Home, Folder: s.config.Folder, StartedAt: status.StartedAt.UTC(), Engines: []api.Engine{},
		InMemory: status.InMemory, Running: status.Running, Total: status.Total, MemoryBytes: status.Memory,
		DiskFreeBytes: status.DiskFree, DiskUsedBytes: status.DiskUsed, Warnings: status.Warnings,
	}
	for _, engine := range status.Engines {
		out.Engines = append(out.Engines, engineJSON(engine))
	}
	return out
}

// eventJSON is an event as the API tells it.
func (s *Server) eventJSON(e machine.Event) api.Event {
	out := api.Event{ID: e.ID, Type: string(e.Type), Seq: e.Seq}
	name := ""
	if e.Machine != nil {
		name = e.Machine.Name
	}
	switch e.Type {
	case machine.EventMachine:
		if e.Machine != nil {
			m := s.machineJSON(*e.Machine)
			out.Machine = &m
		}
		return out
	case machine.EventStatus:
		if e.Status != nil {
			status := s.statusJSON(*e.Status)
			out.Status = &status
		}
		return out
	case machine.EventClient:
		if e.Client != nil {
			out.Client = &api.Client{Name: e.Client.Name, Version: e.Client.Version}
		}
		return out
	case machine.EventPermission:
		if e.Permission != nil {
			p := permissionJSON(*e.Permission)
			out.Permission = &p
		}
		return out
	}
	out.Name = name
	if e.Instruction != nil {
		in := instructionJSON(name, *e.Instruction)
		out.Instruction = &in
		out.Seq = in.Seq
	}
	if e.Connection != nil {
		c := connectionJSON(*e.Connection)
		out.Connection = &c
	}
	if e.Item != nil {
		item := itemJSON(name, e.Seq, *e.Item)
		out.Item = &item
	}
	return out
}

// list is a page, its items converted.
func list[A, B any](items []A, next string, convert func(A) B) api.List[B] {
	out := api.List[B]{Items: make([]B, 0, len(items)), Next: next}
	for _, item := range items {
		out.Items = append(out.Items, convert(item))
	}
	return out
}

// text is bytes as JSON can hold them.
func text(data []byte) string { return strings.ToValidUTF8(string(data), "\uFFFD") }

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	at := t.UTC()
	return &at
}
