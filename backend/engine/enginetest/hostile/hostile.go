//go:build linux

// Package hostile stands for a supervisor that somebody has broken into: it speaks the link's
// language and means harm, in the way that the name of its machine says. A machine of another name
// it treats as a supervisor does, but that there is nothing in it.
package hostile

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/sandbox"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

type hostile struct {
	cfg   sandbox.Config
	start protocol.Start
}

// Serve speaks over the link until it ends, and then leaves in the machine's folder what its name
// says.
func Serve(cfg sandbox.Config, link io.ReadWriteCloser) error {
	session, err := yamux.Server(link, protocol.Mux())
	if err != nil {
		return err
	}
	control, err := session.Accept()
	if err != nil {
		return err
	}
	if _, err := protocol.Read(control); err != nil {
		return err
	}
	frames, err := session.Accept()
	if err != nil {
		return err
	}
	h := &hostile{cfg: cfg}
	for {
		f, err := protocol.Read(control)
		if err != nil {
			return h.left()
		}
		var q protocol.Request
		if err := f.Decode(&q); err != nil {
			return err
		}
		var result any
		switch q.Type {
		case protocol.TypeStart:
			h.start = *q.Start
			if h.start.Name == "forbidden" { // what a supervisor does that may not build its sandbox
				os.Exit(sandbox.ExitForbidden)
			}
			result = protocol.Ready{Python: "3", LastSeq: -1}
		case protocol.TypeCheckpoint, protocol.TypeStop:
			result, err = h.save()
		case protocol.TypeDiscard:
			err = h.folder().Delete(q.Checkpoint)
		default:
			continue
		}
		if err != nil {
			return err
		}
		b, err := json.Marshal(result)
		if err != nil {
			return err
		}
		if err := protocol.Write(control, protocol.Reply{Type: protocol.TypeReply, ID: q.ID, OK: true, Result: b}, nil); err != nil {
			return err
		}
		if q.Type == protocol.TypeStop {
			if err := protocol.Write(frames, protocol.Ended{Type: protocol.TypeEnded, Cause: protocol.CauseStopped, Checkpoint: b}, nil); err != nil {
				return err
			}
			<-session.CloseChan()
			return nil
		}
	}
}

// folder is where the checkpoints lie.
func (h *hostile) folder() checkpoint.Folder {
	return checkpoint.Folder(filepath.Join(h.cfg.Machine, "checkpoints"))
}

// save makes a checkpoint with nothing in it, or says that an older one is it.
func (h *hostile) save() (checkpoint.Manifest, error) {
	m := checkpoint.Manifest{
		Format: checkpoint.Format, LastSeq: -1, CreatedAt: time.Now(), Life: h.start.Life,
		Image: h.cfg.ImageDigest, Runtime: h.cfg.RuntimeDigest, Spec: sandbox.SpecDigest(),
	}
	if h.start.Name == "older" && h.start.After != "" {
		m.ID = h.start.After
		return m, nil
	}
	return h.make(m)
}

func (h *hostile) make(m checkpoint.Manifest) (checkpoint.Manifest, error) {
	id, err := h.folder().NewID(h.start.After)
	if err != nil {
		return m, err
	}
	p, err := h.folder().Begin(id)
	if err != nil {
		return m, err
	}
	for _, name := range []string{"checkpoint.img", "pages.img", "pages_meta.img"} {
		if err := os.WriteFile(filepath.Join(p.Dir, name), nil, 0o600); err != nil {
			return m, err
		}
	}
	return p.Commit(m)
}

// left is what it does when the link has ended.
func (h *hostile) left() error {
	root := string(h.folder())
	id := filepath.Join(root, "00000009-0123456789abcdef")
	err := os.MkdirAll(root, 0o700)
	switch h.start.Name {
	case "link": // to a folder of the computer's, or so it hopes
		err = os.Symlink("/", id)
	case "link-inside":
		if err = os.Mkdir(id, 0o700); err == nil {
			err = os.Symlink("/runsc", filepath.Join(id, "pages.img"))
		}
	case "pipe":
		if err = os.Mkdir(id, 0o700); err == nil {
			err = syscall.Mkfifo(filepath.Join(id, "pages.img"), 0o600)
		}
	case "endless":
		if err = os.Mkdir(id, 0o700); err == nil {
			if err = os.WriteFile(filepath.Join(id, "pages.img"), nil, 0o600); err == nil {
				err = os.Truncate(filepath.Join(id, "pages.img"), 4<<40)
			}
		}
	case "many":
		for range 100 {
			if _, err = h.make(checkpoint.Manifest{LastSeq: -1, Life: h.start.Life, Image: h.cfg.ImageDigest, Runtime: h.cfg.RuntimeDigest}); err != nil {
				break
			}
		}
	case "lives": // on, whatever it is told
		for {
			time.Sleep(time.Hour)
		}
	}
	return err
}
