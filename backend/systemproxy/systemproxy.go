// Package systemproxy tells by which proxy this computer reaches others: the one that environment
// variables name (HTTPS_PROXY and its like), as everywhere, else the one that the person, or their
// company, has set for the whole system. Where the system keeps that is a file's matter for each.
package systemproxy

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"
)

const (
	// asked bounds how long the system may take to answer. Without an answer there is no proxy.
	asked = 2 * time.Second
	// remembered is how long an answer holds: somebody may take their laptop from work to home.
	remembered = 2 * time.Minute
	// missed is how long it is taken for none, where the system did not answer.
	missed = 10 * time.Second
	// most is how many answers are remembered.
	most = 1000
)

// For returns the proxy that leads to a request's address; nil for none. It is for
// http.Transport.Proxy, and may be called from any goroutine.
func For(r *http.Request) (*url.URL, error) {
	e := httpproxy.FromEnvironment()
	if e.HTTPProxy != "" || e.HTTPSProxy != "" {
		return e.ProxyFunc()(r.URL)
	}
	if e.NoProxy != "" {
		e.HTTPProxy, e.HTTPSProxy = "any", "any"
		if proxy, err := e.ProxyFunc()(r.URL); err != nil || proxy == nil {
			return nil, err
		}
	}
	if host := r.URL.Hostname(); host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(host).IsLoopback() {
		return nil, nil
	}
	return theSystem.proxyFor(r.Context(), r.URL.Scheme+"://"+r.URL.Host), nil
}

var theSystem = answers{ask: system, now: time.Now}

// answers are those that the system gave.
type answers struct {
	ask func(ctx context.Context, address string) *url.URL
	now func() time.Time

	mu    sync.Mutex
	given map[string]answer // by address
}

type answer struct {
	proxy *url.URL
	until time.Time
}

func (a *answers) proxyFor(ctx context.Context, address string) *url.URL {
	a.mu.Lock()
	known, ok := a.given[address]
	a.mu.Unlock()
	if ok && a.now().Before(known.until) {
		return known.proxy
	}
	asking, cancel := context.WithTimeout(ctx, asked)
	defer cancel()
	proxy := a.ask(asking, address)
	if ctx.Err() != nil {
		return nil // it is no answer
	}
	holds := remembered
	if asking.Err() != nil {
		holds = missed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.given) >= most || a.given == nil {
		a.given = map[string]answer{}
	}
	a.given[address] = answer{proxy, a.now().Add(holds)}
	return proxy
}

// parse makes a proxy of what a system says, such as "http://proxy:3128" or "socks5://proxy:1080";
// nil of what we cannot use, or of "direct://".
func parse(said string) *url.URL {
	if said != "" && !strings.Contains(said, "://") {
		said = "http://" + said
	}
	proxy, err := url.Parse(said)
	if err != nil || proxy.Host == "" {
		return nil
	}
	switch proxy.Scheme {
	case "http", "https", "socks5", "socks5h":
	case "socks":
		proxy.Scheme = "socks5"
	default:
		return nil
	}
	return proxy
}

// byRules is the proxy that a system's plain settings name for an address: one for each scheme. Of
// except, each is a name, a domain (.example.com), a network (10.0.0.0/8, or 10.0/8), a pattern
// with stars, or <local>, which is all names without a dot: they need none.
func byRules(forHTTP, forHTTPS string, except []string, address string) *url.URL {
	at, err := url.Parse(address)
	if err != nil {
		return nil
	}
	var plain []string
	host := strings.ToLower(at.Hostname())
	for _, rule := range except {
		rule = strings.ToLower(strings.TrimSpace(rule))
		switch network, length, isNetwork := strings.Cut(rule, "/"); {
		case rule == "<local>":
			if !strings.ContainsAny(host, ".:") {
				return nil
			}
		case strings.Contains(rule, "*"):
			if matched, err := path.Match(rule, host); err == nil && matched {
				return nil
			}
		case isNetwork && !strings.Contains(network, ":"):
			plain = append(plain, network+strings.Repeat(".0", max(0, 3-strings.Count(network, ".")))+"/"+length)
		default:
			plain = append(plain, rule)
		}
	}
	config := httpproxy.Config{HTTPProxy: forHTTP, HTTPSProxy: forHTTPS, NoProxy: strings.Join(plain, ",")}
	proxy, err := config.ProxyFunc()(at)
	if err != nil || proxy == nil {
		return nil
	}
	return parse(proxy.String())
}
