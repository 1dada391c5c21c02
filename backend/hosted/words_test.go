package hosted

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/client"
)

// Whatever is wrong with the service, or on the way to it, is said in words of its own, which say
// that machines here go on.
func TestEveryTroubleHasItsWords(t *testing.T) {
	answer := func(status int, header, value string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(header, value)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<html>Welcome to the hotel</html>")
		}
	}
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	foreign := httptest.NewUnstartedServer(http.NotFoundHandler())
	foreign.Config.ErrorLog = log.New(io.Discard, "", 0)
	foreign.StartTLS()
	defer foreign.Close()
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		address string // where nobody of ours answers
		proxy   string
		want    string
	}{
		"401":           {answer: answer(401, "X", ""), want: "does not accept your token"},
		"429":           {answer: answer(429, "Retry-After", "60"), want: "Try again in 1m0s"},
		"500":           {answer: answer(500, "X", ""), want: "trouble of its own"},
		"a hotel":       {answer: answer(200, "Content-Type", "text/html"), want: "wants you to sign in first"},
		"a detour":      {answer: answer(302, "Location", "/welcome"), want: "wants you to sign in first"},
		"down":          {address: down.URL, want: "cannot be reached"},
		"no such name":  {address: "https://nobody.invalid", want: "cannot be reached"},
		"a foreign one": {address: foreign.URL, want: "is not safe, so nothing was sent"},
		"a lost proxy":  {address: "https://nobody.invalid", proxy: down.URL, want: "The proxy that this computer is set to use"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.answer != nil {
				server := httptest.NewServer(c.answer)
				defer server.Close()
				c.address = server.URL
			}
			transport := &http.Transport{OnProxyConnectResponse: client.Proxied}
			defer transport.CloseIdleConnections()
			if c.proxy != "" {
				transport.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(c.proxy) }
			}
			_, err := client.New(c.address, "a.b", client.Options{HTTPClient: &http.Client{Transport: transport}}).Wire().List(t.Context(), nil)
			if said := explain(err).Error(); !strings.Contains(said, c.want) || !strings.HasSuffix(said, "Machines on this computer are not affected.") {
				t.Errorf("%v is said as %q", err, said)
			}
		})
	}
	if said := words(fmt.Errorf("%w: %w", client.ErrUnavailable, client.ErrSlow)); !strings.Contains(said, "does not answer in time") {
		t.Errorf("slow is said as %q", said)
	}
}
