package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/forevervm/desktop/backend/machine"
)

// Export is machine.Checkpoints'.
func (p *Place) Export(ctx context.Context, id machine.ID, checkpoint string) (machine.OpenState, error) {
	unused := sync.OnceFunc(p.use())
	c, err := p.connection(ctx)
	if err != nil {
		unused()
		return machine.OpenState{}, err
	}
	whole, end := context.WithCancel(context.WithoutCancel(ctx)) // until OpenState.Close
	t, err := c.open(whole, ask{Type: askExport, Machine: id, Checkpoint: checkpoint})
	if err != nil {
		end()
		unused()
		return machine.OpenState{}, err
	}
	over := func() { end(); t.end(); unused() }
	stop := context.AfterFunc(ctx, over)
	a, err := t.hear(ctx)
	stop()
	if err == nil {
		err = a.Failure.err()
	}
	if err == nil {
		if err = a.State.check(); err != nil {
			err = c.failed(ctx, err)
		}
	}
	if err != nil {
		over()
		return machine.OpenState{}, err
	}
	held, st := a.Pipe, a.State.saved()
	sizes := map[string]int64{}
	for _, f := range st.Files {
		sizes[f.Name] = f.Size
	}
	return machine.OpenState{State: st, Close: over, Open: func(name string) (io.ReadCloser, error) {
		size, ok := sizes[name]
		if !ok {
			return nil, &machine.Error{Kind: machine.ErrCheckpointUnusable, Message: fmt.Sprintf("The checkpoint has no file %.100q.", name)}
		}
		file, err := c.open(whole, ask{Type: askRead, Pipe: held, File: name})
		if err != nil {
			return nil, err
		}
		a, err := file.hear(whole)
		if err == nil {
			err = a.Failure.err()
		}
		if err != nil {
			file.end()
			return nil, err
		}
		return &content{talk: file, left: size}, nil
	}}, nil
}

// content is a file that comes over a stream of its own.
type content struct {
	*talk
	left int64
}

// Read says that the pipe broke where the stream ends before the file.
func (r *content) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n, err := r.talk.Read(b[:min(int64(len(b)), r.left)])
	if r.left -= int64(n); err != nil && r.left > 0 {
		return n, &machine.Error{Kind: machine.ErrUnavailable, Message: errBroken, Cause: err}
	}
	return n, nil
}

// Import is machine.Checkpoints'.
func (p *Place) Import(ctx context.Context, id machine.ID, st machine.SavedState, next func(machine.StateFile) (io.Reader, error)) (machine.CheckpointInfo, error) {
	var none machine.CheckpointInfo
	defer p.use()()
	c, err := p.connection(ctx)
	if err != nil {
		return none, err
	}
	t, err := c.open(ctx, ask{Type: askImport, Machine: id, State: stateOf(st)})
	if err != nil {
		return none, err
	}
	defer t.end()
	for i := 0; ; i++ {
		a, err := t.hear(ctx)
		if err != nil {
			return none, err
		}
		if err := a.Failure.err(); err != nil {
			return none, err
		}
		if a.Type == sayDone {
			info, err := a.Checkpoint.info()
			return checked(ctx, c, info, err)
		}
		if i >= len(st.Files) || a.Type != sayFile || a.File != st.Files[i].Name {
			return none, c.failed(ctx, errLies)
		}
		from, err := next(st.Files[i])
		if err != nil {
			return none, err
		}
		source := &remembering{Reader: from}
		_, err = io.CopyN(t, source, st.Files[i].Size)
		switch {
		case source.err != nil && !errors.Is(source.err, io.EOF):
			return none, source.err
		case errors.Is(err, io.EOF):
			return none, io.ErrUnexpectedEOF
		case err != nil: // the agent has perhaps said why it takes no more
			if a, said := t.hear(ctx); said == nil && a.Failure != nil {
				return none, a.Failure.err()
			}
			return none, c.failed(ctx, err)
		}
	}
}

// remembering is a reader that remembers how it ended.
type remembering struct {
	io.Reader
	err error
}

func (r *remembering) Read(b []byte) (n int, err error) {
	n, err = r.Reader.Read(b)
	r.err = err
	return n, err
}
