package systemproxy

import (
	"net"
	"net/url"
	"strings"
)

// scutil is what `scutil --proxy` of macOS prints: keys and values; ExceptionsList is a
// list. (SCDynamicStoreCopyProxies has the keys.)
type scutil struct {
	values map[string]string
	except []string
}

func readScutil(printed string) scutil {
	s := scutil{values: map[string]string{}}
	var within []string // the dictionaries and lists that have begun
	for line := range strings.Lines(printed) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, " : ")
		switch {
		case line == "}":
			within = within[:max(0, len(within)-1)]
		case strings.HasSuffix(line, "{"):
			within = append(within, key)
		case ok && len(within) == 1:
			s.values[key] = value
		case ok && len(within) == 2 && within[1] == "ExceptionsList":
			s.except = append(s.except, value)
		}
	}
	if s.values["ExcludeSimpleHostnames"] == "1" {
		s.except = append(s.except, "<local>")
	}
	return s
}

func (s scutil) proxyFor(address string) *url.URL {
	if proxy := byRules(s.of("HTTP"), s.of("HTTPS"), s.except, address); proxy != nil {
		return proxy
	}
	socks := s.of("SOCKS")
	if socks == "" {
		return nil
	}
	return byRules("socks5://"+socks, "socks5://"+socks, s.except, address)
}

// of is the host and port that one protocol is to go by; "" for none.
func (s scutil) of(protocol string) string {
	if s.values[protocol+"Enable"] != "1" || s.values[protocol+"Proxy"] == "" {
		return ""
	}
	return net.JoinHostPort(s.values[protocol+"Proxy"], s.values[protocol+"Port"])
}
