package store

import (
	"context"
	"encoding/json"

	"github.com/forevervm/desktop/backend/machine"
)

const checkpointColumns = "id, machine, kind, label, created_at, last_seq, running_seq, size, image, runtime, clone, mark, lost, pause, shrunk, whole, parent, branch, named, left_at"

func scanCheckpoint(r scanner) (machine.CheckpointRecord, error) {
	var c machine.CheckpointRecord
	var created int64
	var left *int64
	var mark *string
	var lost string
	err := r.Scan(&c.ID, &c.Machine, &c.Kind, &c.Label, &created, &c.LastSeq, &c.RunningSeq, &c.Size, &c.Image, &c.Runtime, &c.Clone, &mark, &lost, &c.Pause, &c.Shrunk, &c.Whole,
		&c.Parent, &c.Branch, &c.Named, &left)
	if err != nil {
		return c, err
	}
	c.CreatedAt = fromNano(created)
	if at := fromNanoPtr(left); at != nil {
		c.LeftAt = *at
	}
	if mark != nil {
		if err := json.Unmarshal([]byte(*mark), &c.Mark); err != nil {
			return c, err
		}
	}
	return c, json.Unmarshal([]byte(lost), &c.Lost)
}

// Checkpoint returns one.
func (s *Store) Checkpoint(ctx context.Context, checkpoint string) (machine.CheckpointRecord, error) {
	c, err := scanCheckpoint(s.row(ctx, "SELECT "+checkpointColumns+" FROM checkpoints WHERE id = ?", checkpoint))
	return c, explain(err)
}

// Checkpoints returns a machine's, newest first.
func (s *Store) Checkpoints(ctx context.Context, id machine.ID) ([]machine.CheckpointRecord, error) {
	var all []machine.CheckpointRecord
	err := s.each(ctx, "SELECT "+checkpointColumns+" FROM checkpoints WHERE machine = ? ORDER BY created_at DESC, id DESC", []any{id}, func(r scanner) (bool, error) {
		c, err := scanCheckpoint(r)
		all = append(all, c)
		return true, err
	})
	return all, err
}

// PutCheckpoint adds or replaces one.
func (w writer) PutCheckpoint(c machine.CheckpointRecord) error {
	var mark, left any
	lost, err := toJSON(c.Lost)
	if err == nil && c.Mark != nil {
		mark, err = toJSON(c.Mark)
	}
	if err != nil {
		return err
	}
	if !c.LeftAt.IsZero() {
		left = nano(c.LeftAt)
	}
	return w.s.exec(`INSERT INTO checkpoints (`+checkpointColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, label = excluded.label, size = excluded.size, shrunk = excluded.shrunk,
		branch = excluded.branch, named = excluded.named, left_at = excluded.left_at`,
		c.ID, c.Machine, c.Kind, c.Label, nano(c.CreatedAt), c.LastSeq, c.RunningSeq, c.Size, c.Image, c.Runtime, c.Clone, mark, lost, int64(c.Pause), c.Shrunk, c.Whole,
		c.Parent, c.Branch, c.Named, left)
}

// RemoveCheckpoint forgets one. What came from it comes from where it came from.
func (w writer) RemoveCheckpoint(checkpoint string) error {
	err := w.s.exec(`UPDATE checkpoints SET parent = gone.parent FROM checkpoints AS gone
		WHERE gone.id = ? AND checkpoints.machine = gone.machine AND checkpoints.parent = gone.id`, checkpoint)
	if err != nil {
		return err
	}
	return w.s.exec("DELETE FROM checkpoints WHERE id = ?", checkpoint)
}

// Garbage returns what is still to be deleted.
func (s *Store) Garbage(ctx context.Context) ([]machine.Garbage, error) {
	var all []machine.Garbage
	err := s.each(ctx, "SELECT engine, machine, checkpoint FROM garbage", nil, func(r scanner) (bool, error) {
		var g machine.Garbage
		err := r.Scan(&g.Engine, &g.Machine, &g.Checkpoint)
		all = append(all, g)
		return true, err
	})
	return all, err
}

// AddGarbage writes down what is to be deleted.
func (w writer) AddGarbage(g machine.Garbage) error {
	return w.s.exec("INSERT OR IGNORE INTO garbage (engine, machine, checkpoint) VALUES (?, ?, ?)", g.Engine, g.Machine, g.Checkpoint)
}

// RemoveGarbage strikes off what was deleted.
func (w writer) RemoveGarbage(g machine.Garbage) error {
	return w.s.exec("DELETE FROM garbage WHERE engine = ? AND machine = ? AND checkpoint = ?", g.Engine, g.Machine, g.Checkpoint)
}
