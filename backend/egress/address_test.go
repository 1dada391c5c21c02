package egress

import (
	"net"
	"net/netip"
	"testing"
)

var testOwn = ownOf([]net.Addr{
	&net.IPNet{IP: net.ParseIP("203.0.114.7"), Mask: net.CIDRMask(24, 32)},
	&net.IPNet{IP: net.ParseIP("9.8.7.1"), Mask: net.CIDRMask(3, 32)},
	&net.IPNet{IP: net.ParseIP("2600:1:2:3::7"), Mask: net.CIDRMask(64, 128)},
	&net.IPNet{IP: net.ParseIP("2600:9::1"), Mask: net.CIDRMask(128, 128)},
	&net.IPNet{IP: net.ParseIP("2600:a::1"), Mask: net.CIDRMask(3, 128)},
	&net.IPAddr{IP: net.ParseIP("8.8.4.4")}, // no address of an interface
})

// Exactly these may not be reached, in whatever clothes they come.
func TestForbidden(t *testing.T) {
	for _, addr := range []string{
		"127.0.0.1", "127.255.255.254", "::1", // this computer
		"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "fc00::1", "fd12:3456::1", "fec0::1", // private
		"169.254.0.1", "169.254.169.254", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", // link-local, and where secrets are told
		"100.64.0.1", "100.127.255.255", "100.100.100.200", // shared
		"224.0.0.1", "239.255.255.250", "ff02::1", "ff0e::1", // groups
		"0.0.0.0", "::", "255.255.255.255", // nobody, everybody
		"0.1.2.3", "192.0.0.8", "198.18.0.1", "198.19.255.255", // special purposes
		"240.0.0.1", "192.88.99.1", "100::1", "100:0:0:1::1", "5f00::1", "2001:20::1",
		"168.63.129.16", "192.0.0.192", "fd20:ce::254", "::ffff:168.63.129.16", "64:ff9b::a83f:8110", // clouds
		"2001:0:808:808::f7f7:f7f7",                                           // Teredo, as a whole
		"203.0.114.7", "203.0.114.8", "203.0.114.255", "9.8.7.6", "9.8.255.1", // this computer's networks
		"2600:1:2:3::7", "2600:1:2:3:4:5:6:8", "2600:9::ffff", "2600:a::9", // this computer's, and its networks'
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:203.0.114.7", // mapped
		"::127.0.0.1", "::10.0.0.1", "::ffff:0:192.168.1.1", // compatible, translated
		"64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", // NAT64
		"2002:7f00:1::1", "2002:a00:1::", "2002:c0a8:101::1", "2002:cb00:7207::1", // 6to4
		"2001:0:a00:1::", "2001:0:808:808:0:0:80ff:fffe", "2001:0:808:808::f5ff:fffe", // Teredo: its server, its client
		"2600:5::5efe:a00:1", "2600:5::200:5efe:7f00:1", // ISATAP
	} {
		if what := forbidden(netip.MustParseAddr(addr), testOwn); what == "" {
			t.Errorf("%s may be reached", addr)
		}
	}
	for _, addr := range []string{
		"8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0",
		"100.63.255.255", "100.128.0.0", "169.253.255.255", "169.255.0.0", "126.255.255.255", "128.0.0.0", "223.255.255.255",
		"192.0.2.1", "198.51.100.1", "203.0.113.80", "2001:db8::1", "3fff::1", // documentation
		"192.31.196.1", "192.52.193.1", "192.175.48.1", "198.17.255.255", "198.20.0.0", "1.0.0.1", // globally reachable
		"203.0.115.8", "9.9.9.9", "8.8.4.4", "2600:1:2:4::1", "2600:b::1", "2001:200::1", "2606:4700:4700::1111",
		"::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1", "2600:5::5efe:808:808",
	} {
		if what := forbidden(netip.MustParseAddr(addr), testOwn); what != "" {
			t.Errorf("%s may not be reached: it is %s", addr, what)
		}
	}
}

func TestParseTarget(t *testing.T) {
	for host, want := range map[string]string{
		"example.com": "example.com", "EXAMPLE.com.": "example.com", "a_b.example.com": "a_b.example.com", "xn--bcher-kva.example": "xn--bcher-kva.example",
		"127.0.0.1": "127.0.0.1", "127.1": "127.0.0.1", "127.0.1": "127.0.0.1", "2130706433": "127.0.0.1", "0x7f000001": "127.0.0.1",
		"0x7f.1": "127.0.0.1", "0177.0.0.1": "127.0.0.1", "0177.0x0.0.01": "127.0.0.1", "127.0.0.1.": "127.0.0.1", "0": "0.0.0.0", "0x": "0.0.0.0",
		"10.0.0.0x1": "10.0.0.1", "[::1]": "::1", "::1": "::1", "[::ffff:127.0.0.1]": "127.0.0.1", "::ffff:7f00:1": "127.0.0.1", "1.1": "1.0.0.1",
		// none
		"": "", ".": "", "..": "", "a..b": "", "-": "-", "a b": "", "a\r\nb": "", "a\x00": "", "a/b": "", "a@b": "", "user:pw@example.com": "", "é.example": "",
		"fe80::1%eth0": "", "[fe80::1%25eth0]": "", "[127.0.0.1]": "", "[::1": "", "::1]": "", "256.0.0.1": "", "1.2.3.4.5": "", "1.2.3.256": "",
		"4294967296": "", "08.0.0.1": "", "1.2.3.4x": "1.2.3.4x", "example.0x7f": "", "example.1": "", "example.com:80": "", "%31%32%37.0.0.1": "",
	} {
		got, ok := parseTarget(host, 80)
		if ok != (want != "") || ok && got.host != want {
			t.Errorf("%q is read as %q, %v", host, got.host, ok)
		}
		if ok && got.addr.IsValid() != (net.ParseIP(want) != nil) {
			t.Errorf("%q is an address: %v", host, got.addr)
		}
	}
	for _, port := range []int{-1, 0, 65536} {
		if _, ok := parseTarget("example.com", port); ok {
			t.Errorf("the port %d is one", port)
		}
	}
}
