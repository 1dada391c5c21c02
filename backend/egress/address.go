package egress

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// special are the ranges that no machine reaches unless they are named by hand, beside those that
// net/netip knows. They are IANA's special-purpose registries, and addresses at which clouds tell
// secrets. Left out are the ranges that the registries call globally reachable, and those for
// documentation: they lead nowhere, and closed networks put public hosts there.
var special = []struct {
	what     string
	prefixes []netip.Prefix
}{
	{"an address at which clouds tell secrets", prefixes(
		"169.254.169.254/32", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::254/128", "fd20:ce::254/128")},
	{"the address of no computer", prefixes("0.0.0.0/8")},
	{"an address that providers share among their customers", prefixes("100.64.0.0/10")},
	{"an address for network protocols", prefixes("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "5f00::/16")},
	{"an address for measuring networks, which VPN programs use inside", prefixes("198.18.0.0/15")},
	{"the broadcast address", prefixes("255.255.255.255/32")},
	{"a reserved address", prefixes("240.0.0.0/4")},
	{"a private address", prefixes("fec0::/10")},
	{"an address that discards everything", prefixes("100::/63")},
	// Which address is meant depends on the network (RFC 8215).
	{"an address that is translated in the local network", prefixes("64:ff9b:1::/48")},
}

func prefixes(all ...string) (parsed []netip.Prefix) {
	for _, one := range all {
		parsed = append(parsed, netip.MustParsePrefix(one))
	}
	return parsed
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	compatible = netip.MustParsePrefix("::/96")
	translated = netip.MustParsePrefix("::ffff:0:0:0/96")
)

// forbidden says what kind of address this is, where a machine may reach it only if it is named by
// hand; "" for all others. own are the addresses of this computer and of its networks.
func forbidden(addr netip.Addr, own ownAddresses) string {
	addr = addr.Unmap().WithZone("")
	if what := forbiddenPlainly(addr, own); what != "" {
		return what
	}
	for _, inner := range disguised(addr) {
		if what := forbiddenPlainly(inner, own); what != "" {
			return what + " in disguise"
		}
	}
	return ""
}

func forbiddenPlainly(addr netip.Addr, own ownAddresses) string {
	for _, one := range special {
		if slices.ContainsFunc(one.prefixes, func(p netip.Prefix) bool { return p.Contains(addr) }) {
			return one.what
		}
	}
	switch {
	case !addr.IsValid():
		return "no address"
	case addr.IsUnspecified():
		return "the address of no computer"
	case addr.IsLoopback():
		return "an address of your computer itself"
	case addr.IsPrivate():
		return "a private address, of a network such as yours at home"
	case addr.IsLinkLocalUnicast():
		return "an address that is good only on the same cable or radio"
	case addr.IsMulticast():
		return "an address of a group of computers"
	}
	return own.what(addr)
}

// disguised are the IPv4 addresses that an IPv6 address stands for where it is translated or
// tunnelled.
func disguised(addr netip.Addr) []netip.Addr {
	if !addr.Is6() {
		return nil
	}
	b := addr.As16()
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte(b[i : i+4])) }
	var found []netip.Addr
	switch {
	case nat64.Contains(addr), translated.Contains(addr), compatible.Contains(addr):
		found = append(found, at(12))
	case sixToFour.Contains(addr):
		found = append(found, at(2))
	}
	// ISATAP says it in the interface's half, in whatever network.
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		found = append(found, at(12))
	}
	return found
}

// ownAddresses are this computer's, at one moment.
type ownAddresses struct {
	addrs    map[netip.Addr]bool
	prefixes []netip.Prefix // of its networks
}

func (o ownAddresses) what(addr netip.Addr) string {
	if o.addrs[addr] {
		return "an address of your computer itself"
	}
	for _, p := range o.prefixes {
		if p.Contains(addr) {
			return "an address in a network that your computer is in"
		}
	}
	return ""
}

// The shortest prefixes that are taken for a network's: what claims more, say a tunnel to
// everywhere, is none.
const (
	shortestIPv4 = 16
	shortestIPv6 = 48
)

// ownOf makes the own addresses of what interfaces have.
func ownOf(interfaces []net.Addr) ownAddresses {
	own := ownAddresses{addrs: map[netip.Addr]bool{}}
	for _, a := range interfaces {
		ipnet, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		addr, ok := netip.AddrFromSlice(ipnet.IP)
		if !ok {
			continue
		}
		addr = addr.Unmap()
		own.addrs[addr] = true
		ones, bits := ipnet.Mask.Size()
		switch {
		case addr.Is4() && bits == 32:
			own.prefixes = append(own.prefixes, netip.PrefixFrom(addr, max(ones, shortestIPv4)).Masked())
		case addr.Is6() && addr.IsGlobalUnicast() && !addr.IsPrivate():
			if ones == 128 { // given by a server that does not say how large its network is
				ones = 64
			}
			own.prefixes = append(own.prefixes, netip.PrefixFrom(addr, max(ones, shortestIPv6)).Masked())
		}
	}
	return own
}

// target is where a machine wants to go.
type target struct {
	host string     // the name in lower case without a dot at its end, or the address
	addr netip.Addr // valid where an address is meant, however it is written
	port int
}

func (t target) String() string { return net.JoinHostPort(t.host, strconv.Itoa(t.port)) }

// parseTarget reads a host as programs write it: a name, an address, or an IPv4 address in one of
// the forms of before.
func parseTarget(host string, port int) (target, bool) {
	t := target{port: port}
	if port < 1 || port > 65535 || len(host) > 260 {
		return t, false
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if host, ok = strings.CutSuffix(inner, "]"); !ok || !strings.Contains(host, ":") {
			return t, false
		}
	}
	if strings.Contains(host, ":") {
		addr, err := netip.ParseAddr(host)
		if err != nil || addr.Zone() != "" { // a zone is good on this computer's own cables only
			return t, false
		}
		t.addr = addr.Unmap()
		t.host = t.addr.String()
		return t, true
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	labels := strings.Split(host, ".")
	if last := labels[len(labels)-1]; isNumber(last) {
		addr, ok := parseOldIPv4(labels)
		t.addr, t.host = addr, addr.String()
		return t, ok
	}
	t.host = host
	return t, validName(labels, host)
}

// validName says whether this can be a host's name, as names go over the network: other characters
// are encoded in these.
func validName(labels []string, host string) bool {
	if len(host) > 253 {
		return false
	}
	for _, label := range labels {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

// isNumber says whether a name that ends so is an IPv4 address to some program.
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// parseOldIPv4 reads one to four numbers, decimal, octal or hexadecimal, the last of which fills
// the rest (inet_aton).
func parseOldIPv4(labels []string) (netip.Addr, bool) {
	if len(labels) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, label := range labels {
		base := 10
		if hex, ok := strings.CutPrefix(label, "0x"); ok {
			label, base = "0"+hex, 16
		} else if len(label) > 1 && label[0] == '0' {
			base = 8
		}
		n, err := strconv.ParseUint(label, base, 32)
		if err != nil {
			return netip.Addr{}, false
		}
		if i < len(labels)-1 {
			if n > 255 {
				return netip.Addr{}, false
			}
			value |= n << (24 - 8*i)
			continue
		}
		if n >= 1<<(32-8*i) {
			return netip.Addr{}, false
		}
		value |= n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}
