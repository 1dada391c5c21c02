package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
	"github.com/forevervm/desktop/backend/sandbox/link"
)

// Export is machine.Checkpoints'.
func (s *Store) Export(ctx context.Context, id machine.ID, name string) (machine.OpenState, error) {
	if err := ValidID(id); err != nil {
		return machine.OpenState{}, err
	}
	dir, m, done, err := s.open(ctx, id, name, false)
	if err != nil {
		return machine.OpenState{}, err
	}
	files, err := checkpoint.Files(dir)
	if err != nil {
		done()
		return machine.OpenState{}, explain(ctx, err)
	}
	st := machine.SavedState{
		CreatedAt: m.CreatedAt, LastSeq: m.LastSeq, Baseline: m.Baseline,
		Needs: machine.Needs{Processor: runtime.GOARCH, Features: features(m.Features), Image: m.Image, Runtime: m.Runtime, Spec: m.Spec},
	}
	for _, f := range files {
		st.Files = append(st.Files, machine.StateFile{Name: f.Name, Size: f.Size})
	}
	return machine.OpenState{State: st, Close: done, Open: func(name string) (io.ReadCloser, error) {
		if !slices.ContainsFunc(files, func(f checkpoint.File) bool { return f.Name == name }) {
			return nil, damaged(fmt.Errorf("there is no file %.100q", name))
		}
		f, err := checkpoint.OpenFile(dir, name)
		if err != nil {
			return nil, explain(ctx, err)
		}
		return f, nil
	}}, nil
}

// CheckCompatible is machine.Engine's.
func (s *Store) CheckCompatible(ctx context.Context, image string, needs machine.Needs) error {
	if needs.Processor != runtime.GOARCH {
		return Unusable(fmt.Sprintf("This machine was saved on a computer with another kind of processor (%.20q; here it is %s), so it cannot be opened on this one. Open it on a computer like the one that it comes from.",
			needs.Processor, runtime.GOARCH), nil)
	}
	p, err := s.Parts(image)
	if err != nil {
		return err
	}
	what := ""
	switch {
	case needs.Image != p.ImageDigest:
		what = "the Python and the libraries that it was saved with (the sandbox image " + quoted(image) + ")"
	case needs.Runtime != p.RuntimeDigest || needs.Spec != sandbox.SpecDigest():
		what = "the sandbox that it was saved with"
	}
	if what != "" {
		return Unusable("This machine needs "+what+", and this ForeverVM has another version of it. Both computers need the same version of ForeverVM: update the older one, and if that is the one that "+
			"saved the machine, save it there again.", fmt.Errorf("image %.12s, runsc %.12s, spec %.12s; here are %.12s, %.12s, %s",
			needs.Image, needs.Runtime, needs.Spec, p.ImageDigest, p.RuntimeDigest, sandbox.SpecDigest()))
	}
	here, err := processor(ctx, p.Runsc)
	if err != nil {
		s.cfg.Log.Warn("whether this processor can do what a machine needs is found out when it starts", "error", err)
		return nil
	}
	var lacking []string
	for _, f := range needs.Features {
		if here != nil && !slices.Contains(here, f) {
			lacking = append(lacking, f)
		}
	}
	if len(lacking) > 0 {
		return Unusable(fmt.Sprintf("This machine was saved on a computer whose processor can do what this one cannot (%.200s), so it cannot be opened here. Open it on a computer with a processor at least as new.",
			strings.Join(lacking, ", ")), nil)
	}
	return nil
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }

// features are a manifest's as a list.
func features(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// processor tells the features of this computer's processor, as gVisor calls them; nil where it
// compares none, or cannot be asked.
func processor(ctx context.Context, runsc string) ([]string, error) {
	if runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, runsc, "cpu-features")
	cmd.Env = []string{}
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	return features(strings.TrimSpace(string(out))), nil
}

// Import is machine.Checkpoints'.
func (s *Store) Import(ctx context.Context, id machine.ID, st machine.SavedState, next func(machine.StateFile) (io.Reader, error)) (info machine.CheckpointInfo, err error) {
	if err := ValidID(id); err != nil {
		return info, err
	}
	names := make([]string, len(st.Files))
	for i, f := range st.Files {
		names[i] = f.Name
	}
	if !checkpoint.Complete(names) {
		return info, Unusable("This file does not hold a machine's state.", fmt.Errorf("it has the files %.200q", names))
	}
	folder := Checkpoints(s.Machine(id))
	checkpointID, err := folder.NewID()
	if err != nil {
		return info, Describe(err)
	}
	pending, err := folder.Begin(checkpointID)
	if err != nil {
		return info, Describe(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, pending.Abort())
		}
	}()
	for _, f := range st.Files {
		content, err := next(f)
		if err != nil {
			return info, err
		}
		if err := pending.Fill(ctx, checkpoint.File{Name: f.Name, Size: f.Size}, content); err != nil {
			return info, notTaken(ctx, err)
		}
	}
	m, err := pending.Commit(checkpoint.Manifest{
		CreatedAt: st.CreatedAt, LastSeq: st.LastSeq, Baseline: st.Baseline,
		Image: st.Needs.Image, Runtime: st.Needs.Runtime, Spec: st.Needs.Spec, Features: strings.Join(st.Needs.Features, ","),
	})
	if err != nil {
		return info, Describe(err)
	}
	return link.Info(m), nil
}

// notTaken makes a sentence of why a file from elsewhere could not be written. What its reader has
// to say is one already.
func notTaken(ctx context.Context, err error) error {
	var said *machine.Error
	switch {
	case errors.As(err, &said):
		return err
	case errors.Is(err, checkpoint.ErrUnusable):
		return Unusable("This file does not hold a machine's state.", err)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return Describe(err)
}
