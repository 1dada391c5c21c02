package store

import (
	"context"
	"encoding/json"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/forevervm/desktop/backend/machine"
)

// Machines returns every machine, the bin included.
func (s *Store) Machines(ctx context.Context) ([]machine.MachineRecord, error) {
	aliases := map[machine.ID][]string{}
	names := map[machine.ID]string{}
	err := s.each(ctx, "SELECT machine, name, old FROM names ORDER BY machine, old", nil, func(r scanner) (bool, error) {
		var id machine.ID
		var name string
		var old int
		if err := r.Scan(&id, &name, &old); err != nil {
			return false, err
		}
		if old == 0 {
			names[id] = name
		} else {
			aliases[id] = append(aliases[id], name)
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	var all []machine.MachineRecord
	err = s.each(ctx, `SELECT id, title, tags, engine, image, memory_mb, notice, created_at, expires_at, deleted_at,
		parent, live, life, touched, base, fallback, next_notice, network, client_name, client_version, derived_title, branch, undo, shared, paused, owner,
		coalesce((SELECT max(seq) FROM instructions WHERE machine = m.id), -1) + 1,
		coalesce((SELECT status FROM instructions WHERE machine = m.id AND status IN ('ok', 'error') AND NOT rolled_back ORDER BY seq DESC LIMIT 1), '') = 'error',
		max(last_active_at, coalesce((SELECT max(queued_at, coalesce(ended_at, 0)) FROM instructions WHERE machine = m.id ORDER BY seq DESC LIMIT 1), 0))
		FROM machines m ORDER BY created_at, id`, nil, func(r scanner) (bool, error) {
		var m machine.MachineRecord
		var tags, network, shared string
		var parent *string
		var created, active int64
		var expires, deleted *int64
		err := r.Scan(&m.ID, &m.Title, &tags, &m.Engine, &m.Image, &m.MemoryMB, &m.Notice, &created, &expires, &deleted,
			&parent, &m.Live, &m.Life, &m.Touched, &m.Base, &m.Fallback, &m.NextNotice, &network, &m.Client.Name, &m.Client.Version, &m.DerivedTitle,
			&m.Branch, &m.Undo, &shared, &m.Paused, &m.Owner, &m.NextSeq, &m.Failed, &active)
		if err != nil {
			return false, err
		}
		m.Name, m.Aliases = names[m.ID], aliases[m.ID]
		m.CreatedAt, m.LastActiveAt = fromNano(created), fromNano(active)
		m.ExpiresAt, m.DeletedAt = fromNanoPtr(expires), fromNanoPtr(deleted)
		if err := json.Unmarshal([]byte(tags), &m.Tags); err != nil {
			return false, fmt.Errorf("tags of machine %s: %w", m.ID, err)
		}
		if network != "" {
			if err := json.Unmarshal([]byte(network), &m.Network); err != nil {
				return false, fmt.Errorf("network policy of machine %s: %w", m.ID, err)
			}
		}
		if shared != "" {
			if err := json.Unmarshal([]byte(shared), &m.Shared); err != nil {
				return false, fmt.Errorf("shared folder of machine %s: %w", m.ID, err)
			}
		}
		if parent != nil {
			if err := json.Unmarshal([]byte(*parent), &m.Parent); err != nil {
				return false, fmt.Errorf("parent of machine %s: %w", m.ID, err)
			}
		}
		all = append(all, m)
		return true, nil
	})
	return all, err
}

// PutMachine adds or replaces a machine.
func (w writer) PutMachine(m machine.MachineRecord) error {
	tags, err := toJSON(m.Tags)
	if err != nil {
		return err
	}
	network := ""
	if n := m.Network; n.Mode != machine.NetworkDefault || len(n.Hosts)+len(n.Approved) > 0 {
		if network, err = toJSON(n); err != nil {
			return err
		}
	}
	shared := ""
	if m.Shared != nil {
		if shared, err = toJSON(m.Shared); err != nil {
			return err
		}
	}
	var parent any
	if m.Parent != nil {
		if parent, err = toJSON(m.Parent); err != nil {
			return err
		}
	}
	err = w.s.exec(`INSERT INTO machines (id, name, title, tags, engine, image, memory_mb, notice, created_at, last_active_at,
		expires_at, deleted_at, parent, live, life, touched, base, fallback, next_notice, network,
		client_name, client_version, derived_title, branch, undo, shared, paused, owner)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, title = excluded.title, tags = excluded.tags,
		engine = excluded.engine, memory_mb = excluded.memory_mb, notice = excluded.notice, last_active_at = excluded.last_active_at,
		expires_at = excluded.expires_at, deleted_at = excluded.deleted_at, live = excluded.live, life = excluded.life, touched = excluded.touched,
		base = excluded.base, fallback = excluded.fallback, next_notice = excluded.next_notice, network = excluded.network,
		client_name = excluded.client_name, client_version = excluded.client_version, derived_title = excluded.derived_title,
		branch = excluded.branch, undo = excluded.undo, shared = excluded.shared, paused = excluded.paused`,
		m.ID, m.Name, m.Title, tags, m.Engine, m.Image, m.MemoryMB, m.Notice, nano(m.CreatedAt), nano(m.LastActiveAt),
		nanoPtr(m.ExpiresAt), nanoPtr(m.DeletedAt), parent, m.Live, m.Life, m.Touched, m.Base, m.Fallback, m.NextNotice, network,
		m.Client.Name, m.Client.Version, m.DerivedTitle, m.Branch, m.Undo, shared, m.Paused, m.Owner)
	if err != nil {
		return err
	}
	return w.putNames(m)
}

// putNames gives a machine its names, or fails when one of them is another's.
func (w writer) putNames(m machine.MachineRecord) error {
	for i, name := range append([]string{m.Name}, m.Aliases...) {
		err := w.s.exec(`INSERT INTO names (name, machine, old) VALUES (?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET old = excluded.old, machine = CASE WHEN machine = excluded.machine THEN machine END
			WHERE machine <> excluded.machine OR old <> excluded.old`, name, m.ID, i)
		if code(err) == sqlite3.SQLITE_CONSTRAINT_NOTNULL {
			return &machine.Error{Kind: machine.ErrNameTaken, Message: fmt.Sprintf("Another machine is called %q, or was. Choose another name.", name)}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// RemoveMachine removes a machine with its instructions, items, checkpoints, names and index.
func (w writer) RemoveMachine(id machine.ID) error {
	if err := w.s.exec("DELETE FROM search WHERE rowid IN (SELECT id FROM instructions WHERE machine = ?)", id); err != nil {
		return err
	}
	return w.s.exec("DELETE FROM machines WHERE id = ?", id)
}
