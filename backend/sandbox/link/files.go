package link

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

const maxEntries = 10_000

// ReadFile reads a part of a file, at most protocol.MaxFileChunk bytes.
func (s *Sandbox) ReadFile(ctx context.Context, path string, offset int64, length int) (machine.FileChunk, error) {
	q := protocol.Request{Type: protocol.TypeReadFile, Path: path, Offset: offset, Length: min(length, protocol.MaxFileChunk)}
	reply, data, err := s.ask(ctx, q, nil)
	if err != nil {
		return machine.FileChunk{}, err
	}
	var file protocol.File
	if err := json.Unmarshal(reply.Result, &file); err != nil {
		return machine.FileChunk{}, nonsense(err)
	}
	if file.Size < 0 || len(data) > q.Length {
		return machine.FileChunk{}, nonsense(io.ErrShortBuffer)
	}
	return machine.FileChunk{Data: data, Size: file.Size, EOF: file.EOF, Version: file.Changed}, nil
}

// WriteFile adds a piece to a file that is on its way.
func (s *Sandbox) WriteFile(ctx context.Context, p machine.FilePiece) error {
	q := protocol.Request{Type: protocol.TypeWriteFile, Path: p.Path, Part: p.Part, Offset: p.Offset, Last: p.Last, ReadOnly: p.ReadOnly}
	if p.Last && !p.Modified.IsZero() {
		q.Changed = max(p.Modified.UnixNano(), 1)
	}
	_, _, err := s.ask(ctx, q, p.Data)
	return err
}

// ListFiles lists a folder, at most limit names.
func (s *Sandbox) ListFiles(ctx context.Context, path string, limit int) (machine.FileList, error) {
	var answer struct {
		Path    string           `json:"path"`
		Entries []protocol.Entry `json:"entries"`
		More    bool             `json:"more"`
	}
	limit = min(limit, maxEntries)
	if err := s.question(ctx, protocol.Request{Type: protocol.TypeListFiles, Path: path, Limit: limit}, "", &answer); err != nil {
		return machine.FileList{}, err
	}
	entries := answer.Entries[:min(len(answer.Entries), limit)]
	list := machine.FileList{Path: clip(answer.Path, maxName), Entries: make([]machine.FileEntry, 0, len(entries)), More: answer.More}
	for _, e := range entries {
		list.Entries = append(list.Entries, fileEntry(e))
	}
	return list, nil
}

// StatFile tells what is at a path.
func (s *Sandbox) StatFile(ctx context.Context, path string) (machine.FileEntry, error) {
	var answer protocol.Entry
	if err := s.question(ctx, protocol.Request{Type: protocol.TypeStatFile, Path: path}, "", &answer); err != nil {
		return machine.FileEntry{}, err
	}
	return fileEntry(answer), nil
}

// RemoveFile removes a file, or a folder with all that is in it.
func (s *Sandbox) RemoveFile(ctx context.Context, path string) error {
	_, _, err := s.ask(ctx, protocol.Request{Type: protocol.TypeRemove, Path: path}, nil)
	return err
}

// MakeFolder makes a folder, and those above it.
func (s *Sandbox) MakeFolder(ctx context.Context, path string) error {
	_, _, err := s.ask(ctx, protocol.Request{Type: protocol.TypeFolder, Path: path}, nil)
	return err
}

// Disk tells how much room the machine's files take and may take.
func (s *Sandbox) Disk(ctx context.Context) (machine.Disk, error) {
	var answer protocol.Disk
	if err := s.question(ctx, protocol.Request{Type: protocol.TypeDisk, Path: "/"}, "", &answer); err != nil {
		return machine.Disk{}, err
	}
	size := max(answer.Size, 0)
	return machine.Disk{Size: size, Used: size - min(max(answer.Free, 0), size)}, nil
}

// latest is the last second that RFC 3339 can say: a later time would break anyone who writes it
// down.
const latest = 253402300799

func fileEntry(e protocol.Entry) machine.FileEntry {
	entry := machine.FileEntry{Name: clip(e.Name, maxName), Kind: machine.FileOther, Size: max(e.Size, 0)}
	switch kind := machine.FileKind(e.Type); kind {
	case machine.FilePlain, machine.FileFolder, machine.FileLink:
		entry.Kind = kind
	}
	if at := time.Unix(0, e.Changed).UTC(); e.Changed > 0 && at.Unix() < latest {
		entry.Modified = at
	}
	return entry
}
