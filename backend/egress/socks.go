package egress

import (
	"encoding/binary"
	"io"
	"net/netip"
	"time"
)

// SOCKS version 5, RFC 1928.
const (
	socksVersion  = 5
	socksNoAuth   = 0
	socksNoMethod = 0xff
	socksConnect  = 1
	socksIPv4     = 1
	socksName     = 3
	socksIPv6     = 4

	socksGranted        = 0
	socksDenied         = 2
	socksUnreachable    = 4
	socksNoSuchCommand  = 7
	socksNoSuchAddress  = 8
	socksReplyAndNoAddr = "\x00\x01\x00\x00\x00\x00\x00\x00"
)

// serveSOCKS does what a program asks that speaks SOCKS.
func (p *Proxy) serveSOCKS(v *guest) {
	_ = v.SetReadDeadline(time.Now().Add(headerPatience))
	host, port, code := readSOCKS(v)
	_ = v.SetReadDeadline(time.Time{})
	if code != socksGranted {
		if code != socksNoMethod {
			_ = replySOCKS(v, code)
		}
		return
	}
	outside, err := p.open(v.ctx, v, host, port)
	if err != nil {
		code := byte(socksUnreachable)
		if asRefusal(err).denied {
			code = socksDenied
		}
		_ = replySOCKS(v, code)
		return
	}
	defer outside.Close()
	if replySOCKS(v, socksGranted) != nil {
		return
	}
	p.tunnel(v, v, outside, host, port)
}

func replySOCKS(w io.Writer, code byte) error {
	_, err := io.WriteString(w, string([]byte{socksVersion, code})+socksReplyAndNoAddr)
	return err
}

// readSOCKS reads whom a program wants to be connected to. The code is socksNoMethod where it does
// not speak as it should.
func readSOCKS(v *guest) (host string, port int, code byte) {
	var b [256]byte
	read := func(n int) bool {
		_, err := io.ReadFull(v, b[:n])
		return err == nil
	}
	if !read(2) || b[0] != socksVersion {
		return "", 0, socksNoMethod
	}
	methods := int(b[1])
	if !read(methods) {
		return "", 0, socksNoMethod
	}
	method := byte(socksNoMethod)
	for _, m := range b[:methods] {
		if m == socksNoAuth {
			method = socksNoAuth
		}
	}
	if _, err := v.Write([]byte{socksVersion, method}); err != nil || method != socksNoAuth {
		return "", 0, socksNoMethod
	}
	if !read(4) || b[0] != socksVersion {
		return "", 0, socksNoMethod
	}
	command, kind := b[1], b[3]
	switch kind {
	case socksIPv4:
		if !read(4) {
			return "", 0, socksNoMethod
		}
		host = netip.AddrFrom4([4]byte(b[:4])).String()
	case socksIPv6:
		if !read(16) {
			return "", 0, socksNoMethod
		}
		host = "[" + netip.AddrFrom16([16]byte(b[:16])).String() + "]"
	case socksName:
		if !read(1) {
			return "", 0, socksNoMethod
		}
		length := int(b[0])
		if !read(length) {
			return "", 0, socksNoMethod
		}
		host = string(b[:length])
	default:
		return "", 0, socksNoSuchAddress
	}
	if !read(2) {
		return "", 0, socksNoMethod
	}
	if command != socksConnect {
		return "", 0, socksNoSuchCommand
	}
	return host, int(binary.BigEndian.Uint16(b[:2])), socksGranted
}
