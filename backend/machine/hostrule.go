package machine

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/forevervm/desktop/backend/machine/naming"
)

// HostRule is one entry of a list of hosts: a name, a name with a wildcard, an address, or a range
// of addresses; each for all ports or for one.
type HostRule struct {
	name   string       // in lower case, for names
	suffix string       // ".example.com", for "*.example.com"; "" for any name, with wildcard
	wild   bool         // it has a wildcard
	prefix netip.Prefix // for addresses
	port   int          // 0 for all
}

const maxHostName = 253

// ParseHostRule reads "example.com", "*.example.com", "*", "192.168.1.5", "10.0.0.0/8" or
// "[fd00::1]", each perhaps followed by ":443".
func ParseHostRule(text string) (HostRule, error) {
	wrong := func() (HostRule, error) {
		return HostRule{}, Invalid("%q is not a host. Write a name such as example.com, *.example.com for the names below one, or an address such as 192.168.1.5 or 10.0.0.0/8; with :443 behind it for one port alone.", naming.Clip(text, 80))
	}
	host, port := strings.ToLower(text), ""
	if inner, rest, ok := strings.Cut(strings.TrimPrefix(host, "["), "]"); ok && strings.HasPrefix(host, "[") {
		if host, port = inner, strings.TrimPrefix(rest, ":"); rest != "" && port == rest {
			return wrong()
		}
	} else if strings.Count(host, ":") == 1 {
		if host, port, _ = strings.Cut(host, ":"); port == "" {
			return wrong()
		}
	}
	var r HostRule
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return wrong()
		}
		r.port = int(n)
	}
	if prefix, err := netip.ParsePrefix(host); err == nil {
		r.prefix = prefix.Masked()
		return r, nil
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Zone() == "" {
		r.prefix = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen())
		return r, nil
	}
	if host == "*" {
		r.wild = true
		return r, nil
	}
	name, wild := strings.CutPrefix(strings.TrimSuffix(host, "."), "*.")
	if !validHostName(name) {
		return wrong()
	}
	if r.wild = wild; wild {
		r.suffix = "." + name
	} else {
		r.name = name
	}
	return r, nil
}

// validHostName says whether a name in lower case can be a host's; underscores occur.
func validHostName(name string) bool {
	if name == "" || len(name) > maxHostName {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range label {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

// MatchesName says whether the rule is for a name, given in lower case and without a dot at its
// end, and a port.
func (r HostRule) MatchesName(name string, port int) bool {
	switch {
	case r.port != 0 && r.port != port, r.prefix.IsValid():
		return false
	case r.wild:
		return strings.HasSuffix(name, r.suffix)
	default:
		return r.name == name
	}
}

// NamesExactly says whether the rule is for this one name, with no wildcard: only then somebody has
// thought of what it leads to.
func (r HostRule) NamesExactly(name string, port int) bool {
	return !r.wild && r.MatchesName(name, port)
}

// Contains says whether the rule is for an address, or for all.
func (r HostRule) Contains(addr netip.Addr, port int) bool {
	return (r.port == 0 || r.port == port) && r.prefix.IsValid() && r.prefix.Contains(addr.Unmap())
}

// IsAny says whether the rule is "*".
func (r HostRule) IsAny(port int) bool {
	return r.wild && r.suffix == "" && (r.port == 0 || r.port == port)
}

// IsName says whether the rule is for names, not for addresses.
func (r HostRule) IsName() bool { return !r.prefix.IsValid() }
