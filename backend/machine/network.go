package machine

import (
	"context"
	"net"
	"slices"
	"time"

	"github.com/forevervm/desktop/backend/machine/naming"
)

// NetworkMode says which hosts a machine may reach. Whatever it is, addresses of this computer and
// of the networks that it is in are reached only where they are named by hand.
type NetworkMode string

const (
	NetworkDefault NetworkMode = ""       // what the settings say
	NetworkOff     NetworkMode = "off"    // none
	NetworkAsk     NetworkMode = "ask"    // a person is asked about each new one
	NetworkPublic  NetworkMode = "public" // the public internet
	NetworkList    NetworkMode = "list"   // those listed
)

// NetworkPolicy says what a machine may reach. It is a value: its lists are not changed once it is
// in use.
type NetworkPolicy struct {
	Mode NetworkMode
	// Hosts are named by hand, as ParseHostRule takes them: reachable in every mode but off, and be
	// they private.
	Hosts []string
	// Approved are the names that a person has approved of when asked: public ones alone.
	Approved []string
}

// maxHosts bounds each list of a policy.
const maxHosts = 500

// Check says what is wrong with a policy.
func (p NetworkPolicy) Check() error {
	switch p.Mode {
	case NetworkDefault, NetworkOff, NetworkAsk, NetworkPublic, NetworkList:
	default:
		return Invalid("There is no network policy %q: it is off, ask, public, list, or default.", naming.Clip(string(p.Mode), 40))
	}
	if len(p.Hosts) > maxHosts || len(p.Approved) > maxHosts {
		return Invalid("A list of hosts has at most %d entries.", maxHosts)
	}
	for _, host := range slices.Concat(p.Hosts, p.Approved) {
		if _, err := ParseHostRule(host); err != nil {
			return err
		}
	}
	return nil
}

// NetworkChange is what may be changed of a policy; nil fields stay.
type NetworkChange struct {
	Mode            *NetworkMode
	Hosts, Approved *[]string
}

// On is a policy with the change made.
func (c *NetworkChange) On(p NetworkPolicy) NetworkPolicy {
	if c.Mode != nil {
		p.Mode = *c.Mode
	}
	if c.Hosts != nil {
		p.Hosts = slices.Clone(*c.Hosts)
	}
	if c.Approved != nil {
		p.Approved = slices.Clone(*c.Approved)
	}
	return p
}

// CheckNetworkPolicy says in a sentence what is wrong with a policy.
func CheckNetworkPolicy(p NetworkPolicy) error { return p.Check() }

// Over is what holds for a machine whose own policy is p, where the settings say standard. What was
// approved of for all machines is added.
func (p NetworkPolicy) Over(standard NetworkPolicy) NetworkPolicy {
	if p.Mode == NetworkDefault {
		p.Mode = standard.Mode
		p.Hosts = slices.Concat(p.Hosts, standard.Hosts)
	}
	p.Approved = slices.Concat(p.Approved, standard.Approved)
	return p
}

// Network carries what machines send to the outside and get from there.
type Network interface {
	// Carry serves one connection that code in a machine has opened to its proxy, until it is over
	// or ctx ends, and closes it. What comes on it is hostile.
	Carry(ctx context.Context, conn net.Conn, visit Visit)
	// Belongings are what a machine of that owner needs to have to use the network: environment
	// variables, and certificate authorities in PEM.
	Belongings(id ID, owner string) (env map[string]string, authorities []byte)
	// Upstream names the proxy that this computer itself needs; "" for none. It resolves names by
	// itself, so where there is one, addresses that names lead to are not checked.
	Upstream() string
}

// Visit is what a Network must know of the machine whose connection it carries. All may be called
// from any goroutine.
type Visit struct {
	Machine ID
	Owner   string        // the machine's
	Name    func() string // the machine's present one
	// Policy is what holds now.
	Policy func() NetworkPolicy
	// Begin makes a connection known, and gives it its ID.
	Begin func(host string, port int) Connection
	// Ask asks a person about a connection, and returns why it is refused; "" where it is not.
	Ask func(ctx context.Context, c Connection) (refusal string)
	// Tell tells what has become of a connection.
	Tell func(Connection)
}

// ConnectionState is where a connection is.
type ConnectionState string

const (
	ConnectionAsking ConnectionState = "asking" // a person is asked
	ConnectionOpen   ConnectionState = "open"
	ConnectionClosed ConnectionState = "closed"
	ConnectionDenied ConnectionState = "denied" // Reason says why
	ConnectionFailed ConnectionState = "failed" // it was allowed, but not possible; Reason says why
)

// Over says whether nothing more will happen to the connection.
func (s ConnectionState) Over() bool {
	return s == ConnectionClosed || s == ConnectionDenied || s == ConnectionFailed
}

const (
	// DefaultConnectionLimit is how many connections a list has where nothing else is said.
	DefaultConnectionLimit = 100
	// MaxConnectionLimit is how many it has at most.
	MaxConnectionLimit = 1000
	// KeptConnections is how many connections of a machine that are over are kept on record. The
	// oldest go.
	KeptConnections = 5000
)

// Connection is one connection of a machine to the outside, or an attempt.
type Connection struct {
	ID        int64 // counts up with time, over all machines
	Host      string
	Port      int
	Address   string // that was dialled; "" where it is not known
	Seq       *int   // the instruction that ran; nil for none
	State     ConnectionState
	Reason    string // a sentence
	StartedAt time.Time
	AnswerBy  *time.Time // when it is refused if nobody answers; nil unless it is asking
	EndedAt   *time.Time
	Sent      int64 // bytes
	Received  int64 // bytes
	// Secrets are the names of those that it carried.
	Secrets []string
}

// Answer is what a person says about a host that a machine wants to reach for the first time.
type Answer string

const (
	AllowOnce    Answer = "once"    // while the present instruction runs
	AllowMachine Answer = "machine" // always, for this machine
	AllowAlways  Answer = "always"  // always, for every machine
	Deny         Answer = "deny"
)

// ConnectionQuery chooses connections of one machine, newest first.
type ConnectionQuery struct {
	Before int64 // only those with a smaller ID; 0 for all
	Limit  int   // default 100, at most 1000
}

// NetworkState is what holds for a machine's network.
type NetworkState struct {
	Own       NetworkPolicy // the machine's
	Effective NetworkPolicy // what follows from it and the settings
	Upstream  string        // the proxy that this computer needs, which resolves names on its own; "" for none
}
