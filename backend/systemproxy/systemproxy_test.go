package systemproxy

import (
	"context"
	"net/url"
	"testing"
	"time"
)

func TestPlainSettings(t *testing.T) {
	except := []string{"*.corp.example", "10.0/8", "172.16.0.0/12", "192.168.*", "<local>", "exact.example", ".domain.example", "", "fd00::/8"}
	for address, want := range map[string]string{
		"https://service.example":     "http://secure:3129",
		"http://service.example":      "http://plain:3128",
		"https://a.corp.example":      "",
		"https://A.CORP.example:8443": "",
		"https://10.1.2.3":            "",
		"https://172.20.0.1":          "",
		"https://172.32.0.1":          "http://secure:3129",
		"https://192.168.7.7":         "",
		"https://intranet":            "",
		"https://exact.example":       "",
		"https://sub.domain.example":  "",
		"https://[fd00::1]":           "",
		"https://[2001:db8::1]":       "http://secure:3129",
	} {
		got := ""
		if proxy := byRules("plain:3128", "http://secure:3129", except, address); proxy != nil {
			got = proxy.String()
		}
		if got != want {
			t.Errorf("%s goes by %q, want %q", address, got, want)
		}
	}
}

func TestWhatSystemsSay(t *testing.T) {
	for said, want := range map[string]string{
		"proxy:3128": "http://proxy:3128", "http://proxy:3128": "http://proxy:3128", "https://proxy": "https://proxy",
		"socks://proxy:1080": "socks5://proxy:1080", "socks5://proxy:1080": "socks5://proxy:1080",
		"direct://": "", "": "", "socks4://proxy:1080": "", "http://": "", "%": "",
	} {
		got := ""
		if proxy := parse(said); proxy != nil {
			got = proxy.String()
		}
		if got != want {
			t.Errorf("of %q it makes %q, want %q", said, got, want)
		}
	}
}

func TestSettingsOfMacOS(t *testing.T) {
	s := readScutil(`<dictionary> {
  ExceptionsList : <array> {
    0 : *.local
    1 : 169.254/16
  }
  FTPPassive : 1
  HTTPEnable : 0
  HTTPPort : 1
  HTTPProxy : not.enabled
  HTTPSEnable : 1
  HTTPSPort : 8443
  HTTPSProxy : proxy.corp.example
  ExcludeSimpleHostnames : 1
  SOCKSEnable : 0
  __SCOPED__ : <dictionary> {
    en0 : <dictionary> {
      HTTPSEnable : 1
      HTTPSPort : 1
      HTTPSProxy : of.another.network
    }
  }
}
`)
	for address, want := range map[string]string{
		"https://service.example": "http://proxy.corp.example:8443",
		"http://service.example":  "",
		"https://printer.local":   "",
		"https://printer":         "",
		"https://169.254.1.1":     "",
	} {
		got := ""
		if proxy := s.proxyFor(address); proxy != nil {
			got = proxy.String()
		}
		if got != want {
			t.Errorf("%s goes by %q, want %q", address, got, want)
		}
	}
	s = readScutil("<dictionary> {\n  SOCKSEnable : 1\n  SOCKSPort : 1080\n  SOCKSProxy : socks.example\n}\n")
	if proxy := s.proxyFor("https://service.example"); proxy == nil || proxy.String() != "socks5://socks.example:1080" {
		t.Errorf("by a SOCKS proxy alone it goes by %v", proxy)
	}
}

// An answer holds for a while, and one that was broken off is none.
func TestAnswersAreRemembered(t *testing.T) {
	now, asked := time.Now(), 0
	a := answers{now: func() time.Time { return now }, ask: func(_ context.Context, address string) *url.URL {
		asked++
		return &url.URL{Scheme: "http", Host: "proxy"}
	}}
	broken, cancel := context.WithCancel(t.Context())
	cancel()
	if proxy := a.proxyFor(broken, "https://a"); proxy != nil || asked != 1 {
		t.Errorf("broken off, it says %v", proxy)
	}
	for range 3 {
		if proxy := a.proxyFor(t.Context(), "https://a"); proxy == nil || asked != 2 {
			t.Errorf("asked %d times, it says %v", asked, proxy)
		}
	}
	now = now.Add(remembered)
	a.proxyFor(t.Context(), "https://a")
	a.proxyFor(t.Context(), "https://b")
	if asked != 4 {
		t.Errorf("it was asked %d times", asked)
	}
}
