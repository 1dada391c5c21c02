package server

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/machine"
)

const testToken = "local-test.0123456789abcdef0123456789abcdef"

// closed is a domain that no request may reach.
type closed struct{ Machines }

func (closed) Status(context.Context) machine.Status { return machine.Status{} }

// request sends one over a real connection and returns the answer with its body read.
func request(t *testing.T, base, method, path string, set func(*http.Request)) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if set != nil {
		set(req)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func errorCode(t *testing.T, body string) string {
	t.Helper()
	var answer api.Error
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("the answer is no error of ours: %q", body)
	}
	if len(answer.Message) < 20 {
		t.Errorf("%q does not tell a person anything", answer.Message)
	}
	return answer.Code
}

func start(t *testing.T, config Config) string {
	t.Helper()
	server := httptest.NewServer(New(config))
	t.Cleanup(server.Close)
	return server.URL
}

func TestToken(t *testing.T) {
	base := start(t, Config{Machines: closed{}, Token: testToken})
	for name, test := range map[string]struct {
		path   string
		header string
		want   int
	}{
		"none":                    {"/api/status", "", 401},
		"wrong":                   {"/api/status", "Bearer local-test.x", 401},
		"empty":                   {"/api/status", "Bearer ", 401},
		"no scheme":               {"/api/status", testToken, 401},
		"basic":                   {"/api/status", "Basic " + testToken, 401},
		"right":                   {"/api/status", "Bearer " + testToken, 200},
		"lower case":              {"/api/status", "bearer " + testToken, 200},
		"wire":                    {"/v1/whoami", "", 401},
		"wire, right":             {"/v1/whoami", "Bearer " + testToken, 200},
		"an unknown call":         {"/api/nothing", "", 401},
		"in the address":          {"/v1/whoami?_forevervm_jwt=" + testToken, "", 401},
		"health":                  {"/health", "", 200},
		"socket without a token":  {"/v1/machine/x/repl", "", 401},
		"double slash":            {"//v1/whoami", "Bearer " + testToken, 200},
		"double slash, no token":  {"//v1/whoami", "", 401},
		"stream without a token":  {"/api/events", "", 401},
		"data without a token":    {"/api/machines/a/instructions/0/data/0/0", "", 401},
		"restore without a token": {"/api/machines/a", "", 401},
		"unknown wire call":       {"/v1/nothing", "Bearer " + testToken, 404},
		"unknown call of the API": {"/api/nothing", "Bearer " + testToken, 404},
		"unknown internal call":   {"/internal/nothing", "", 404},
		"no page in this server":  {"/", "", 404},
	} {
		t.Run(name, func(t *testing.T) {
			resp, body := request(t, base, "GET", test.path, func(r *http.Request) {
				if test.header != "" {
					r.Header.Set("Authorization", test.header)
				}
			})
			if resp.StatusCode != test.want {
				t.Fatalf("%d, want %d: %s", resp.StatusCode, test.want, body)
			}
			if test.want == 401 {
				if code := errorCode(t, body); code != "Unauthorized" {
					t.Errorf("code %s", code)
				}
				if resp.Header.Get("WWW-Authenticate") == "" {
					t.Error("401 without WWW-Authenticate")
				}
			}
			if strings.Contains(body, testToken) {
				t.Error("the token is in an answer")
			}
		})
	}
}

func TestSignupIsAnsweredClearly(t *testing.T) {
	base := start(t, Config{Machines: closed{}, Token: testToken})
	resp, body := request(t, base, "POST", "/internal/signup", nil)
	if resp.StatusCode != 400 || errorCode(t, body) != "NoAccountsHere" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestHost(t *testing.T) {
	base := start(t, Config{Machines: closed{}, Token: testToken, Host: "Studio.lan"})
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(base, "http://"))
	for host, want := range map[string]int{
		"127.0.0.1":                 200,
		"127.0.0.1:" + port:         200,
		"127.0.0.1:1":               200, // behind a forwarded port
		"localhost":                 200,
		"LOCALHOST:" + port:         200,
		"[::1]":                     200,
		"[::1]:" + port:             200,
		"studio.lan:" + port:        200,
		"evil.example":              403,
		"evil.example:" + port:      403,
		"127.0.0.1.evil.example":    403,
		"localhost.evil.example":    403,
		"localhost:80.evil.example": 403,
		"127.0.0.2":                 403,
		"0.0.0.0":                   403,
		"10.0.0.1:" + port:          403,
		"[::ffff:127.0.0.2]":        403,
		"user@localhost":            403,
	} {
		for _, path := range []string{"/health", "/api/status"} {
			resp, body := request(t, base, "GET", path, func(r *http.Request) {
				r.Host = host
				r.Header.Set("Authorization", "Bearer "+testToken)
			})
			if resp.StatusCode != want {
				t.Errorf("Host %s on %s: %d, want %d", host, path, resp.StatusCode, want)
			}
			if want == 403 && errorCode(t, body) != "ForbiddenHost" {
				t.Errorf("Host %s: %s", host, body)
			}
		}
	}
}

// The address that a connection came in at is always a right one: that is how --listen with another
// address works.
func TestHostOfAnotherAddress(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skip("this system has no second loopback address")
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: New(Config{Machines: closed{}, Token: testToken})}}
	server.Start()
	t.Cleanup(server.Close)
	for host, want := range map[string]int{"127.0.0.2": 200, listener.Addr().String(): 200, "127.0.0.3": 403} {
		resp, _ := request(t, server.URL, "GET", "/health", func(r *http.Request) { r.Host = host })
		if resp.StatusCode != want {
			t.Errorf("Host %s: %d, want %d", host, resp.StatusCode, want)
		}
	}
}

func TestOrigin(t *testing.T) {
	base := start(t, Config{Machines: closed{}, Token: testToken, Page: fstest.MapFS{"index.html": {Data: []byte("page")}}})
	own := strings.TrimPrefix(base, "http://")
	_, port, _ := net.SplitHostPort(own)
	for _, test := range []struct {
		origin string
		want   int
		cors   bool
	}{
		{"", 200, false},
		{base, 200, false},
		{"http://localhost:" + port, 403, false}, // another name: a page from there asks there
		{"http://127.0.0.1", 403, false},
		{"http://127.0.0.1:1", 403, false},
		{"https://" + own, 403, false},
		{"null", 403, false},
		{"https://evil.example", 403, false},
		{base + ".evil.example", 403, false},
		{"wails://wails", 200, true},
		{"wails://wails.localhost", 200, true},
		{"http://wails.localhost", 200, true},
		{"https://wails.localhost", 403, false},
		{"http://wails.localhost:" + port, 403, false},
		{"wails://wails.evil.example", 403, false},
	} {
		for _, path := range []string{"/", "/health", "/api/status", "/v1/whoami"} {
			resp, body := request(t, base, "GET", path, func(r *http.Request) {
				r.Header.Set("Authorization", "Bearer "+testToken)
				if test.origin != "" {
					r.Header.Set("Origin", test.origin)
				}
			})
			if resp.StatusCode != test.want {
				t.Errorf("Origin %q on %s: %d, want %d", test.origin, path, resp.StatusCode, test.want)
			}
			if test.want == 403 && errorCode(t, body) != "ForbiddenOrigin" {
				t.Errorf("Origin %q: %s", test.origin, body)
			}
			allowed := resp.Header.Get("Access-Control-Allow-Origin")
			if test.cors && allowed != test.origin || !test.cors && allowed != "" {
				t.Errorf("Origin %q: Access-Control-Allow-Origin %q", test.origin, allowed)
			}
			if resp.Header.Get("Access-Control-Allow-Credentials") != "" {
				t.Error("credentials are allowed; there are none")
			}
		}
	}
}

func TestPreflight(t *testing.T) {
	base := start(t, Config{Machines: closed{}, Token: testToken})
	preflight := func(origin string) *http.Response {
		resp, _ := request(t, base, "OPTIONS", "/api/machines/a", func(r *http.Request) {
			r.Header.Set("Origin", origin)
			r.Header.Set("Access-Control-Request-Method", "PATCH")
			r.Header.Set("Access-Control-Request-Headers", "authorization,content-type,x-forevervm-client")
			r.Header.Set("Access-Control-Request-Private-Network", "true")
		})
		return resp
	}
	resp := preflight("wails://wails")
	if resp.StatusCode != 204 || !strings.Contains(resp.Header.Get("Access-Control-Allow-Methods"), "PATCH") ||
		!strings.Contains(resp.Header.Get("Access-Control-Allow-Headers"), "Authorization") ||
		resp.Header.Get("Access-Control-Allow-Private-Network") != "true" {
		t.Errorf("the window was not let in: %d %v", resp.StatusCode, resp.Header)
	}
	if resp := preflight("https://evil.example"); resp.StatusCode != 403 || resp.Header.Get("Access-Control-Allow-Methods") != "" {
		t.Errorf("a stranger was let in: %d %v", resp.StatusCode, resp.Header)
	}
}
