package home

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// Daemon is what a running daemon says about itself.
type Daemon struct {
	URL       string    `json:"url"`              // "http://127.0.0.1:PORT", without a slash at the end
	Socket    string    `json:"socket,omitempty"` // of this user alone, as localsocket takes it; "" for none
	PID       int       `json:"pid"`
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at"`
	Team      bool      `json:"team,omitempty"` // people of a team reach it at another address, too
}

// ReadDaemon returns what the running daemon says, or an error of os.ErrNotExist where none does. A
// daemon that was killed leaves its file behind: only the lock shows that it lives, and only a
// proof that what answers at its URL is it.
func (d Dirs) ReadDaemon() (Daemon, error) {
	var daemon Daemon
	data, err := read(d.DaemonFile())
	if err != nil {
		return Daemon{}, err
	}
	if err := json.Unmarshal(data, &daemon); err != nil || daemon.URL == "" {
		return Daemon{}, fmt.Errorf("%s is damaged; delete it: %w", d.DaemonFile(), errors.Join(err, os.ErrNotExist))
	}
	return daemon, nil
}

// Socket returns the socket of the daemon that listens at a TCP address, as far as its file says;
// "" for none.
func (d Dirs) Socket(address string) string {
	said, err := d.ReadDaemon()
	if err != nil || said.URL != "http://"+address {
		return ""
	}
	return said.Socket
}

// WriteDaemon says where the daemon is, all at once.
func (d Dirs) WriteDaemon(daemon Daemon) error {
	return writeJSON(d.DaemonFile(), daemon)
}

// RemoveDaemon takes it back, unless another daemon has spoken since.
func (d Dirs) RemoveDaemon(daemon Daemon) error {
	now, err := d.ReadDaemon()
	if err != nil {
		return nil //nolint:nilerr // what cannot be read names no daemon
	}
	if now.PID != daemon.PID {
		return nil
	}
	if err := remove(d.DaemonFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return WritePrivate(path, append(data, '\n'))
}
