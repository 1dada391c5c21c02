package store

import (
	"context"

	"github.com/forevervm/desktop/backend/machine"
)

// PutClient notes when a program was last seen, unless a later time is on record, and adds to its
// calls.
func (w writer) PutClient(c machine.ClientUse) error {
	return w.s.exec(`INSERT INTO clients (name, version, seen_at, calls) VALUES (?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET version = iif(excluded.seen_at >= seen_at, excluded.version, version),
			seen_at = max(excluded.seen_at, seen_at), calls = calls + excluded.calls`,
		c.Client.Name, c.Client.Version, nano(c.SeenAt), c.Calls)
}

// Clients returns all programs that have said hello or sent an instruction that is still there, the
// last seen first.
func (s *Store) Clients(ctx context.Context) ([]machine.ClientUse, error) {
	var all []machine.ClientUse
	// SQLite takes a bare column, such as version, from the row that max() is of.
	err := s.each(ctx, `SELECT name, version, max(seen_at) AS seen, sum(calls) FROM (
			SELECT name, version, seen_at, calls FROM clients
			UNION ALL
			SELECT client_name, client_version, max(queued_at), 0 FROM instructions GROUP BY client_name
		) GROUP BY name ORDER BY seen DESC, name`, nil,
		func(r scanner) (bool, error) {
			var c machine.ClientUse
			var seen int64
			err := r.Scan(&c.Client.Name, &c.Client.Version, &seen, &c.Calls)
			c.SeenAt = fromNano(seen)
			all = append(all, c)
			return true, err
		})
	return all, err
}
