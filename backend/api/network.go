package api

import "time"

// NetworkPolicy says what a machine may reach.
type NetworkPolicy struct {
	Mode     string   `json:"mode"`               // default (what the settings say), off, ask, public, list
	Hosts    []string `json:"hosts,omitempty"`    // named by hand: reachable whatever the mode but off, be they private
	Approved []string `json:"approved,omitempty"` // public ones that a person has approved of when asked
}

// NetworkChange changes a policy; absent fields stay.
type NetworkChange struct {
	Mode     *string   `json:"mode,omitempty"`
	Hosts    *[]string `json:"hosts,omitempty"`
	Approved *[]string `json:"approved,omitempty"`
}

// Network answers GET /api/machines/{name}/network.
type Network struct {
	Policy    NetworkPolicy `json:"policy"`             // the machine's own
	Effective NetworkPolicy `json:"effective"`          // what follows from it and the settings
	Upstream  string        `json:"upstream,omitempty"` // the proxy that this computer needs: it resolves names, so addresses behind them are not checked
}

// Connection is one connection of a machine to the outside, or an attempt.
type Connection struct {
	ID        int64      `json:"id"` // counts up with time
	Host      string     `json:"host"`
	Port      int        `json:"port"`
	Address   string     `json:"address,omitempty"` // that was dialled
	Seq       *int       `json:"seq,omitempty"`     // the instruction that ran
	State     string     `json:"state"`             // asking, open, closed, denied, failed
	Reason    string     `json:"reason,omitempty"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	Sent      int64      `json:"sent_bytes"`
	Received  int64      `json:"received_bytes"`
}

// Answer is the body of POST /api/machines/{name}/connections/{id}/answer.
type Answer struct {
	Answer string `json:"answer"` // once, machine, always, deny
}
