//go:build !windows && real

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

// cutter stands between a client and the real daemon and breaks connections: the answers to what is
// posted get lost after the daemon gave them, or the requests before it got them.
type cutter struct {
	url  string
	cuts atomic.Int32 // how many more posts are cut
	late atomic.Bool  // after the daemon has answered, else before it was asked
	seen atomic.Int32 // how many posts came
}

func newCutter(t *testing.T, to client.Endpoint) *cutter {
	t.Helper()
	target, err := url.Parse(to.URL)
	if err != nil {
		t.Fatal(err)
	}
	cut := &cutter{}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		ModifyResponse: func(resp *http.Response) error {
			if resp.Request.Method == http.MethodPost && cut.late.Load() && cut.cuts.Add(-1) >= 0 {
				return http.ErrAbortHandler
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			cut.seen.Add(1)
			if !cut.late.Load() && cut.cuts.Add(-1) >= 0 {
				_, _ = io.Copy(io.Discard, r.Body)
				panic(http.ErrAbortHandler)
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	cut.url = server.URL
	return cut
}

// through is a client whose every connection goes through the cutter. process says which daemon is
// found, each time.
func (c *cutter) through(t *testing.T, to client.Endpoint, process func() string) *client.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return client.New("", "", client.Options{
		Name: " cut / short ", Version: "1/2", HTTPClient: &http.Client{Transport: transport},
		Locate: func(context.Context, *client.Endpoint) (client.Endpoint, error) {
			return client.Endpoint{URL: c.url, Token: to.Token, Process: process()}, nil
		},
	})
}

func TestNothingRunsTwice(t *testing.T) {
	direct := daemon(t)
	at, err := direct.Endpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same := func() string { return "1" }
	var found atomic.Int32
	other := func() string { return fmt.Sprint(found.Add(1)) }
	for name, test := range map[string]struct {
		late    bool // the answer is lost, else the request
		process func() string
		cuts    int32
	}{
		"the answer is lost":                          {late: true, process: same, cuts: 1},
		"the answer is lost again and again":          {late: true, process: same, cuts: 4},
		"the answer is lost, the daemon is replaced":  {late: true, process: other, cuts: 1},
		"the request is lost":                         {process: same, cuts: 1},
		"the request is lost, the daemon is replaced": {process: other, cuts: 2},
	} {
		t.Run(name, func(t *testing.T) {
			cut := newCutter(t, at)
			c := cut.through(t, at, test.process)
			m := machine(t, c)
			value(t, c, m, "n = 0\nn")
			cut.late.Store(test.late)
			cut.cuts.Store(test.cuts)
			in, _, err := c.Execute(t.Context(), m, api.Execute{Code: "n += 1"})
			if err != nil || in.Code != "n += 1" {
				t.Fatalf("Execute returned %+v, %v", in, err)
			}
			if got := value(t, direct, m, "n"); got != "1" {
				t.Errorf("it ran %s times", got)
			}
		})
	}
}

// Two calls of one program with the same code are two instructions, also when both of their answers
// are lost.
func TestCallsWithTheSameCodeAreNotTakenForEachOther(t *testing.T) {
	direct := daemon(t)
	at, err := direct.Endpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cut := newCutter(t, at)
	cut.late.Store(true)
	c := cut.through(t, at, func() string { return "1" })
	m := machine(t, c)
	value(t, c, m, "n = 0\nn")
	seen := map[int]bool{}
	for range 3 {
		cut.cuts.Store(1)
		in, _, err := c.Execute(t.Context(), m, api.Execute{Code: "n += 1"})
		if err != nil {
			t.Fatal(err)
		}
		seen[in.Seq] = true
	}
	if got := value(t, direct, m, "n"); got != "3" || len(seen) != 3 {
		t.Errorf("it ran %s times under the numbers %v", got, seen)
	}
}

// No matter how much has happened since, or who else runs the same code: the newest hundred
// instructions are no guide.
func TestAnAnswerThatComesLateIsTheRightOne(t *testing.T) {
	direct := daemon(t)
	m := machine(t, direct)
	sent := api.Execute{Code: "1", Key: "mine"}
	first, _, err := direct.Execute(t.Context(), m, sent)
	if err != nil {
		t.Fatal(err)
	}
	for range 120 {
		if _, _, err := direct.Execute(t.Context(), m, api.Execute{Code: "1"}); err != nil {
			t.Fatal(err)
		}
	}
	again, _, err := direct.Execute(t.Context(), m, sent)
	if err != nil || again.Seq != first.Seq {
		t.Errorf("it is instruction %d, then %d, %v", first.Seq, again.Seq, err)
	}
	if _, _, err := direct.Execute(t.Context(), m, api.Execute{Code: "2", Key: "mine"}); !errors.Is(err, client.ErrConflict) {
		t.Errorf("other code under the same key: %v", err)
	}
}

func TestWhatMayNotBeRepeatedIsNot(t *testing.T) {
	direct := daemon(t)
	at, err := direct.Endpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cut := newCutter(t, at)
	c := cut.through(t, at, func() string { return "1" })
	cut.late.Store(true)
	cut.cuts.Store(100)
	if _, err := c.CreateMachine(t.Context(), api.NewMachine{}); !errors.Is(err, client.ErrDropped) {
		t.Errorf("a machine: %v", err)
	}
	if n := cut.seen.Load(); n != 1 {
		t.Errorf("it was sent %d times", n)
	}
}

// A server that speaks only the public protocol, as the hosted one does: the daemon's own with /api
// taken away.
func TestAServerWithoutOurAPI(t *testing.T) {
	at, err := daemon(t).Endpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(at.URL)
	if err != nil {
		t.Fatal(err)
	}
	var asked sync.Map
	proxy := httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/") {
			asked.Store(r.URL.Path, true)
			http.NotFound(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer server.Close()
	c, ctx := client.New(server.URL, at.Token, client.Options{Name: "test"}), t.Context()
	defer c.Close()

	m, err := c.CreateMachine(ctx, api.NewMachine{Tags: map[string]string{"hosted": "yes"}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.Machines(ctx, client.MachineFilter{Tags: map[string]string{"hosted": "yes"}})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != m.Name {
		t.Errorf("list %+v, %v", list, err)
	}
	in, _, err := c.Execute(ctx, m.Name, api.Execute{Code: "import matplotlib.pyplot as plt\nprint('one')\nplt.plot([1])\nplt.show()", TimeoutSeconds: 60})
	if err != nil {
		t.Fatal(err)
	}
	var text string
	done, err := c.Follow(ctx, m.Name, in.Seq, 0, func(item api.Item) error { text += item.Text; return nil })
	if err != nil || text != "one\n" || done.Status != "ok" {
		t.Errorf("followed %q, %+v, %v", text, done, err)
	}
	if len(done.Data) != 1 {
		t.Fatalf("%d pictures", len(done.Data))
	}
	if png, err := c.Data(ctx, done.Data[0], 1<<20); err != nil || !strings.HasPrefix(string(png), "\x89PNG") {
		t.Errorf("the picture: %d bytes, %v", len(png), err)
	}
	if got := value(t, c, m.Name, "6 * 7"); got != "42" {
		t.Errorf("6 * 7 is %s", got)
	}
	slow, _, err := c.Execute(ctx, m.Name, api.Execute{Code: "import time\ntime.sleep(600)", TimeoutSeconds: 900})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Interrupt(ctx, m.Name); err != nil {
		t.Fatal(err)
	}
	if ended, err := c.Wait(ctx, m.Name, slow.Seq); err != nil || ended.Status != "error" {
		t.Errorf("interrupted: %+v, %v", ended, err)
	}
	if _, err := c.Checkpoints(ctx, m.Name); !errors.Is(err, client.ErrUnsupported) || !strings.Contains(err.Error(), server.URL) {
		t.Errorf("checkpoints: %v", err)
	}
	if _, err := c.CreateMachine(ctx, api.NewMachine{Title: "x"}); !errors.Is(err, client.ErrUnsupported) {
		t.Errorf("a title: %v", err)
	}
	if _, err := c.Machine(ctx, "no-such-machine"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("an unknown machine: %v", err)
	}
	tries := 0
	asked.Range(func(any, any) bool { tries++; return true })
	if tries != 1 {
		t.Errorf("%d addresses of our API were tried, want 1", tries)
	}
}
