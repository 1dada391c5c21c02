package store

import (
	"context"
	"math"
	"strings"

	"github.com/forevervm/desktop/backend/machine"
)

// Connections returns those of a machine that are over, newest first.
func (s *Store) Connections(ctx context.Context, id machine.ID, q machine.ConnectionQuery) ([]machine.Connection, error) {
	before := q.Before
	if before == 0 {
		before = math.MaxInt64
	}
	var found []machine.Connection
	err := s.each(ctx, `SELECT id, host, port, address, seq, state, reason, started_at, ended_at, sent, received, secrets
		FROM connections WHERE machine = ? AND id < ? ORDER BY id DESC`+limited, []any{id, before, q.Limit}, func(r scanner) (bool, error) {
		var c machine.Connection
		var started int64
		var ended *int64
		var secrets string
		if err := r.Scan(&c.ID, &c.Host, &c.Port, &c.Address, &c.Seq, &c.State, &c.Reason, &started, &ended, &c.Sent, &c.Received, &secrets); err != nil {
			return false, err
		}
		c.Secrets = strings.Fields(secrets)
		c.StartedAt, c.EndedAt = fromNano(started), fromNanoPtr(ended)
		found = append(found, c)
		return true, nil
	})
	return found, err
}

// tidyConnections is after how many new connections the oldest go.
const tidyConnections = 100

// AddConnection adds a connection that is over.
func (w writer) AddConnection(id machine.ID, c machine.Connection) error {
	// A machine that was purged meanwhile has no connections.
	err := w.s.exec(`INSERT INTO connections (id, machine, host, port, address, seq, state, reason, started_at, ended_at, sent, received, secrets)
		SELECT ?, id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM machines WHERE id = ?`,
		c.ID, c.Host, c.Port, c.Address, c.Seq, c.State, c.Reason, nano(c.StartedAt), nanoPtr(c.EndedAt), c.Sent, c.Received, strings.Join(c.Secrets, " "), id)
	if err != nil || c.ID%tidyConnections != 0 {
		return err
	}
	return w.s.exec(`DELETE FROM connections WHERE machine = ? AND id <=
		(SELECT id FROM connections WHERE machine = ? ORDER BY id DESC LIMIT 1 OFFSET ?)`, id, id, machine.KeptConnections)
}
