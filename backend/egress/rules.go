package egress

import (
	"net/netip"
	"os"

	"github.com/forevervm/desktop/backend/machine"
)

var getenv = os.Getenv

// rules are a policy, read.
type rules struct {
	mode          machine.NetworkMode
	hosts, agreed []machine.HostRule
}

// newRules reads a policy. What cannot be read, which the domain lets nobody set, allows nothing.
func newRules(p machine.NetworkPolicy) rules {
	read := func(list []string) (found []machine.HostRule) {
		for _, text := range list {
			if rule, err := machine.ParseHostRule(text); err == nil {
				found = append(found, rule)
			}
		}
		return found
	}
	return rules{mode: p.Mode, hosts: read(p.Hosts), agreed: read(p.Approved)}
}

// lists says whether the list of hosts has the target.
func (r rules) lists(t target) bool {
	for _, rule := range r.hosts {
		if rule.IsAny(t.port) || !t.addr.IsValid() && rule.MatchesName(t.host, t.port) || t.addr.IsValid() && rule.Contains(t.addr, t.port) {
			return true
		}
	}
	return false
}

// namesExactly says whether the list has the name without a wildcard.
func (r rules) namesExactly(t target) bool {
	for _, rule := range r.hosts {
		if !t.addr.IsValid() && rule.NamesExactly(t.host, t.port) {
			return true
		}
	}
	return false
}

// listsAddr says whether the list has the address.
func (r rules) listsAddr(addr netip.Addr, port int) bool {
	for _, rule := range r.hosts {
		if rule.Contains(addr, port) {
			return true
		}
	}
	return false
}

// approved says whether a person has approved of the target when asked.
func (r rules) approved(t target) bool {
	for _, rule := range r.agreed {
		if rule.MatchesName(t.host, t.port) || t.addr.IsValid() && rule.Contains(t.addr, t.port) {
			return true
		}
	}
	return false
}
