package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/forevervm/desktop/backend/machine"
)

const (
	// templatePatience bounds the making of a template: starting the interpreter, importing,
	// saving.
	templatePatience = 3 * time.Minute
	// lockPoll is how often a lock that another process holds is tried.
	lockPoll = 20 * time.Millisecond
)

// Template returns the folder of the template checkpoint for these parts. Where there is none, make
// makes it, in the checkpoints of the folder that it is given, and one at a time does so. It goes
// on when this caller gives up, since others wait for it as well.
func (s *Store) Template(ctx context.Context, p Parts, make func(ctx context.Context, dir string) error) (string, error) {
	dir := s.templateDir(p)
	if found := templateIn(dir); found != "" {
		return found, nil
	}
	unlock, err := s.lockTemplates(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if found := templateIn(dir); found != "" {
		return found, nil
	}
	if err := s.removeTemplates(p); err != nil {
		return "", Describe(err)
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), templatePatience)
	defer cancel()
	if err := make(ctx, dir); err != nil {
		return "", err
	}
	found := templateIn(dir)
	if found == "" {
		return "", &machine.Error{Kind: machine.ErrUnavailable, Message: "The template for new machines could not be made."}
	}
	s.cfg.Log.Info("template made", "took", time.Since(start), "image", filepath.Base(p.Image))
	return found, nil
}

// DiscardTemplate removes a template that cannot be restored, unless another has taken its place
// meanwhile.
func (s *Store) DiscardTemplate(ctx context.Context, p Parts, found string) error {
	unlock, err := s.lockTemplates(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	dir := s.templateDir(p)
	if templateIn(dir) != found {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return Describe(err)
	}
	return nil
}

func (s *Store) templateDir(p Parts) string { return s.templateOf(p.key()) }

func (s *Store) templateOf(key string) string { return filepath.Join(s.cfg.Data, "templates", key) }

// templateIn returns the folder of the checkpoint in a template's folder; empty when there is none.
func templateIn(dir string) string {
	list, err := Checkpoints(dir).List()
	if err != nil || len(list) == 0 {
		return ""
	}
	return Checkpoints(dir).Path(list[len(list)-1].ID)
}

// removeTemplates removes those of earlier parts, and half-made ones. Only with the lock.
func (s *Store) removeTemplates(p Parts) error {
	root := filepath.Join(s.cfg.Data, "templates")
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	keep := map[string]bool{"lock": true, p.key(): true}
	for _, other := range s.AllParts() {
		keep[other.key()] = true
	}
	for _, entry := range entries {
		if !keep[entry.Name()] {
			err = errors.Join(err, os.RemoveAll(filepath.Join(root, entry.Name())))
		}
	}
	return err
}

// lockTemplates keeps others, in this process and in other daemons with this data folder, from
// making the same template.
func (s *Store) lockTemplates(ctx context.Context) (unlock func(), err error) {
	waited := func(err error) error {
		return &machine.Error{Kind: machine.ErrConflict, Message: "The template for new machines is just being made. Try again in a moment.", Cause: err}
	}
	select {
	case s.making <- struct{}{}:
	case <-ctx.Done():
		return nil, waited(ctx.Err())
	}
	root := filepath.Join(s.cfg.Data, "templates")
	lock := flock.New(filepath.Join(root, "lock"))
	if err = os.MkdirAll(root, 0o700); err == nil {
		_, err = lock.TryLockContext(ctx, lockPoll)
	}
	if err != nil {
		<-s.making
		if ctx.Err() != nil {
			return nil, waited(ctx.Err())
		}
		return nil, Describe(err)
	}
	return func() {
		_ = lock.Close()
		<-s.making
	}, nil
}
