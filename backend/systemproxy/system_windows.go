package systemproxy

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"unicode"

	"github.com/mattn/go-ieproxy"
)

// reading is held while the settings are read, which the library keeps in a variable.
var reading sync.Mutex

// system reads Windows' settings, and asks Windows where they are automatic, which may take it
// longer than anybody waits.
func system(ctx context.Context, address string) *url.URL {
	answer := make(chan *url.URL, 1)
	go func() { answer <- windows(address) }()
	select {
	case proxy := <-answer:
		return proxy
	case <-ctx.Done():
		return nil
	}
}

func windows(address string) *url.URL {
	reading.Lock()
	conf := ieproxy.ReloadConf()
	reading.Unlock()
	if conf.Automatic.Active {
		if host := conf.Automatic.FindProxyForURL(address); host != "" {
			return parse(host)
		}
	}
	if !conf.Static.Active {
		return nil
	}
	of := func(protocol string) string {
		if said, ok := conf.Static.Protocols[protocol]; ok {
			return said
		}
		return conf.Static.Protocols[""]
	}
	except := strings.FieldsFunc(conf.Static.NoProxy, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	if proxy := byRules(of("http"), of("https"), except, address); proxy != nil {
		return proxy
	}
	if socks := conf.Static.Protocols["socks"]; socks != "" {
		return byRules("socks5://"+socks, "socks5://"+socks, except, address)
	}
	return nil
}
