package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/machine"
)

// lastRequest is one after which a server hangs up.
const lastRequest = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

// said sends bytes to a server as they are and returns the answers until it hangs up.
func said(t *testing.T, address, text string) []*http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.WriteString(conn, text) // who is hung up on cannot send all
	}()
	defer func() { <-sent }()
	var answers []*http.Response
	for in := bufio.NewReader(conn); ; {
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%.80q is not answered: %v", text, err)
			}
			return answers
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body = io.NopCloser(bytes.NewReader(body))
		answers = append(answers, answer)
	}
}

// counted is a domain that counts how often code is to run, and keeps the last.
type counted struct {
	closed
	machine.Handle
	runs atomic.Int64
	mu   sync.Mutex
	code string
	made machine.CreateOptions
}

func (c *counted) Find(context.Context, string) (machine.Handle, error) { return c, nil }

func (c *counted) Execute(_ context.Context, opts machine.ExecuteOptions) (machine.Instruction, bool, error) {
	c.runs.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.code = opts.Code
	return machine.Instruction{Status: machine.StatusQueued, Code: opts.Code}, false, nil
}

func (c *counted) Create(_ context.Context, opts machine.CreateOptions) (machine.Machine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = opts
	return machine.Machine{Name: "m"}, nil
}

// The token counts in its header alone, for every call that is not open.
func TestTheTokenCountsInItsPlaceAlone(t *testing.T) {
	reached := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s is reached", r.URL.Path) })
	address := strings.TrimPrefix(start(t, Config{Machines: closed{}, Token: testToken, MCP: reached}), "http://")
	const socket = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	for what, header := range map[string]string{
		"nothing":         "",
		"wrong":           "Authorization: Bearer a.b\r\n",
		"short":           "Authorization: Bearer " + testToken[:len(testToken)-1] + "\r\n",
		"long":            "Authorization: Bearer " + testToken + "x\r\n",
		"basic":           "Authorization: Basic " + testToken + "\r\n",
		"cookie":          "Cookie: token=" + testToken + "; _forevervm_jwt=" + testToken + "\r\n",
		"another header":  "X-Authorization: Bearer " + testToken + "\r\nProxy-Authorization: Bearer " + testToken + "\r\n",
		"twice in one":    "Authorization: Bearer " + testToken + ", Bearer " + testToken + "\r\n",
		"after a wrong":   "Authorization: Bearer a.b\r\nAuthorization: Bearer " + testToken + "\r\n",
		"socket, nothing": socket,
		"socket, wrong":   socket + "Authorization: Bearer a.b\r\n",
	} {
		for _, path := range []string{"/api/status", "/v1/whoami", "/v1/machine/m/repl", "/mcp", "/sse", "/message"} {
			query := "?token=" + testToken
			if !strings.HasPrefix(what, "socket") {
				query += "&_forevervm_jwt=" + testToken
			}
			answers := said(t, address, "GET "+path+query+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+header+"\r\n")
			if len(answers) != 1 || answers[0].StatusCode != 401 {
				t.Errorf("%s to %s: %v", what, path, answers)
			}
		}
	}
	// As a parameter it opens the one WebSocket that browsers need, and no other call.
	for _, path := range []string{"/api/status", "/v1/whoami", "/mcp", "/sse"} {
		answers := said(t, address, "GET "+path+"?_forevervm_jwt="+testToken+" HTTP/1.1\r\nHost: localhost\r\n"+socket+"\r\n"+lastRequest)
		if len(answers) != 2 || answers[0].StatusCode != 401 {
			t.Errorf("a WebSocket to %s: %v", path, answers)
		}
	}
}

func TestHostileHosts(t *testing.T) {
	address := serve(t, closed{}, listen(t))
	for what, request := range map[string]string{
		"trailing dot":       "GET /health HTTP/1.1\r\nHost: localhost.\r\n",
		"short":              "GET /health HTTP/1.1\r\nHost: 127.1\r\n",
		"decimal":            "GET /health HTTP/1.1\r\nHost: 2130706433\r\n",
		"hexadecimal":        "GET /health HTTP/1.1\r\nHost: 0x7f000001\r\n",
		"octal":              "GET /health HTTP/1.1\r\nHost: 0177.0.0.1\r\n",
		"mapped":             "GET /health HTTP/1.1\r\nHost: [::ffff:127.0.0.1]\r\n",
		"mapped, as hex":     "GET /health HTTP/1.1\r\nHost: [::ffff:7f00:1]\r\n",
		"long IPv6":          "GET /health HTTP/1.1\r\nHost: [0:0:0:0:0:0:0:1]\r\n",
		"zone":               "GET /health HTTP/1.1\r\nHost: [::1%25lo]\r\n",
		"link-local":         "GET /health HTTP/1.1\r\nHost: [fe80::1%25eth0]\r\n",
		"no port":            "GET /health HTTP/1.1\r\nHost: evil.example:\r\n",
		"a huge port":        "GET /health HTTP/1.1\r\nHost: localhost:99999\r\n",
		"a negative port":    "GET /health HTTP/1.1\r\nHost: localhost:-1\r\n",
		"a word for a port":  "GET /health HTTP/1.1\r\nHost: localhost:http\r\n",
		"two ports":          "GET /health HTTP/1.1\r\nHost: localhost:1:2\r\n",
		"user":               "GET /health HTTP/1.1\r\nHost: localhost@evil.example\r\n",
		"comma":              "GET /health HTTP/1.1\r\nHost: localhost,evil.example\r\n",
		"blank in it":        "GET /health HTTP/1.1\r\nHost: localhost evil.example\r\n",
		"slash":              "GET /health HTTP/1.1\r\nHost: evil.example/localhost\r\n",
		"hash":               "GET /health HTTP/1.1\r\nHost: evil.example#localhost\r\n",
		"empty":              "GET /health HTTP/1.1\r\nHost:\r\n",
		"blank":              "GET /health HTTP/1.1\r\nHost:  \r\n",
		"a colon":            "GET /health HTTP/1.1\r\nHost: :80\r\n",
		"brackets":           "GET /health HTTP/1.1\r\nHost: []\r\n",
		"none":               "GET /health HTTP/1.1\r\n",
		"none, 1.0":          "GET /health HTTP/1.0\r\n",
		"two":                "GET /health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n",
		"two, one evil":      "GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n",
		"absolute URI":       "GET http://evil.example/health HTTP/1.1\r\nHost: localhost\r\n",
		"absolute, with 1.0": "GET http://evil.example/health HTTP/1.0\r\n",
		"Unicode":            "GET /health HTTP/1.1\r\nHost: loc\u00e0lhost\r\n",
		"Kelvin sign":        "GET /health HTTP/1.1\r\nHost: \u212aelvin\r\n",
		"NUL":                "GET /health HTTP/1.1\r\nHost: localhost\x00\r\n",
	} {
		answers := said(t, address, request+"Connection: close\r\n\r\n")
		if len(answers) != 1 || answers[0].StatusCode != 403 && answers[0].StatusCode != 400 {
			t.Errorf("%s: %v", what, answers)
		}
	}
	for _, request := range []string{
		"GET http://localhost/health HTTP/1.1\r\nHost: evil.example\r\n", // the address counts, as RFC 9112 has it
		"GET /health HTTP/1.1\r\nHost: localhost\r\n",
	} {
		if answers := said(t, address, request+"Connection: close\r\n\r\n"); len(answers) != 1 || answers[0].StatusCode != 200 {
			t.Errorf("%q: %v", request, answers)
		}
	}
}

func TestHostileOrigins(t *testing.T) {
	address := serve(t, closed{}, listen(t))
	_, port, _ := net.SplitHostPort(address)
	own := "http://" + address
	for _, origins := range [][]string{
		{own, "https://evil.example"}, {"https://evil.example", own}, {own, own}, {own + " https://evil.example"},
		{own + ",https://evil.example"}, {own + "/"}, {own + "."}, {own + "@evil.example"}, {"file://"}, {"file:///home/me/x.html"}, {"null"}, {""},
		{"chrome-extension://abcdefghijklmnop"}, {"moz-extension://abc"}, {"app://obsidian.md"}, {"vscode-webview://abc"},
		{"ws://" + address}, {"http://0.0.0.0:" + port}, {"http://[::1]:" + port}, {"http://evil.example:" + port}, {"wails://wails.localhost.evil.example"},
	} {
		for _, method := range []string{"GET", "POST", "OPTIONS"} {
			request := method + " /api/machines HTTP/1.1\r\nHost: " + address + "\r\nConnection: close\r\nContent-Length: 0\r\nAuthorization: Bearer " + testToken + "\r\n" +
				"Access-Control-Request-Method: POST\r\nAccess-Control-Request-Private-Network: true\r\n"
			for _, origin := range origins {
				request += "Origin: " + origin + "\r\n"
			}
			answers := said(t, address, request+"\r\n")
			if len(answers) != 1 || answers[0].StatusCode != 403 {
				t.Fatalf("%s with %q: %v", method, origins, answers)
			}
			for name := range answers[0].Header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s with %q is told %s", method, origins, name)
				}
			}
		}
	}
}

// Many who redeem one code at once: one of them gets the token.
func TestACodeWorksOnce(t *testing.T) {
	base := start(t, Config{Machines: closed{}, Token: testToken})
	_, body := post(t, base+"/api/open", testToken, nil)
	var code api.OpenCode
	if err := json.Unmarshal(body, &code); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var won, lost atomic.Int64
	for range 40 {
		all.Go(func() {
			switch status, body := post(t, base+"/open", "", code); {
			case status == 200 && strings.Contains(string(body), testToken):
				won.Add(1)
			case status == 403:
				lost.Add(1)
			default:
				t.Errorf("%d %s", status, body)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 || lost.Load() != 39 {
		t.Errorf("%d got the token, %d did not", won.Load(), lost.Load())
	}
	for _, wrong := range []any{api.OpenCode{}, map[string]any{"code": nil}, map[string]any{"code": []string{""}}, map[string]any{"code": 0}} {
		if status, body := post(t, base+"/open", "", wrong); status != 403 && status != 400 || strings.Contains(string(body), testToken) {
			t.Errorf("%v: %d %s", wrong, status, body)
		}
	}
}

// However a request is framed, no second one hides in it: code that the token does not stand beside
// never runs.
func TestSmuggling(t *testing.T) {
	domain := &counted{}
	address := serve(t, domain, listen(t))
	const (
		run    = `{"instruction":{"code":"evil"}}`
		exec   = "POST /v1/machine/m/exec HTTP/1.1\r\nHost: localhost\r\n"
		health = "POST /health HTTP/1.1\r\nHost: localhost\r\n"
		first  = "GET /health HTTP/1.1\r\nHost: localhost\r\n"
	)
	hidden := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", exec, len(run), run) // without a token
	with := fmt.Sprintf("%sAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", exec, testToken, len(run), run)
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(with), with)
	for what, request := range map[string]string{
		"after a request":                 first + "\r\n" + hidden,
		"two lengths":                     first + "Content-Length: 0\r\nContent-Length: 5\r\n\r\n" + with,
		"two in one":                      first + "Content-Length: 0, 5\r\n\r\n" + with,
		"a negative length":               first + "Content-Length: -1\r\n\r\n" + with,
		"a huge length":                   first + "Content-Length: 99999999999999999999\r\n\r\n" + with,
		"a length with a sign":            first + "Content-Length: +0\r\n\r\n" + with,
		"a length in hexadecimal":         first + "Content-Length: 0x0\r\n\r\n" + with,
		"a length with a blank":           first + "Content-Length : 0\r\n\r\n" + with,
		"an unknown coding":               first + "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunked,
		"an odd coding":                   first + "Transfer-Encoding: xchunked\r\n\r\n" + chunked,
		"a coding twice":                  first + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + chunked,
		"a coding with a tab":             first + "Transfer-Encoding: chunked\x0b\r\n\r\n" + chunked,
		"a coding with a blank before it": first + "Transfer-Encoding : chunked\r\n\r\n" + chunked,
		"a folded coding":                 first + "Transfer-Encoding:\r\n chunked, x\r\n\r\n" + chunked,
		"no chunk":                        first + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n" + with,
		"a negative chunk":                first + "Transfer-Encoding: chunked\r\n\r\n-1\r\n" + with,
		"a huge chunk":                    first + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n" + with,
		"a chunk without its end":         first + "Transfer-Encoding: chunked\r\n\r\n1\r\nxy0\r\n\r\n" + with,
		"endless lines of chunks":         first + "Transfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", 10<<10) + "\r\nx\r\n0\r\n\r\n" + with,
		"the preface of HTTP/2":           "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + with,
		"a change to HTTP/2":              first + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n" + hidden,
		"TLS":                             "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + with,
		"garbage":                         "\x00\x01\x02\xff\r\n\r\n" + with,
		"a line feed in a header":         "GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\rAuthorization: Bearer x\r\n\r\n" + hidden,
		"a header without a name":         first + ": x\r\n\r\n" + with,
		"a blank before a header":         first + " X: y\r\nContent-Length: 5\r\n\r\n" + hidden,
		"a version that is none":          "GET /health HTTP/9.9\r\nHost: localhost\r\n\r\n" + with,
		"no version":                      "GET /health\r\n\r\n" + with,
		"to be continued, without token":  exec + fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d\r\n\r\n%s", len(run), run),
		"another expectation":             exec + fmt.Sprintf("Expect: 200-ok\r\nContent-Length: %d\r\n\r\n%s", len(run), run),
		"in a body":                       health + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(with)) + with,
		"in a chunked body":               health + "Transfer-Encoding: chunked\r\n\r\n" + chunked,
		"in a chunk with both":            health + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked,
		"in a trailer":                    exec + "Transfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\nAuthorization: Bearer %s\r\n\r\n", len(run), run, testToken),
		"under another method":            "get /v1/machine/m/exec HTTP/1.1\r\nHost: localhost\r\nX-HTTP-Method-Override: POST\r\n" + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(run), run),
	} {
		answers := said(t, address, request+lastRequest)
		if domain.runs.Swap(0) != 0 {
			t.Errorf("%s: the code runs", what)
		}
		if len(answers) == 0 {
			t.Errorf("%s is not answered", what)
		}
	}
	// The same code runs where the token stands.
	if said(t, address, with+lastRequest); domain.runs.Load() != 1 {
		t.Errorf("with the token it ran %d times", domain.runs.Load())
	}
}

func TestLargeRequests(t *testing.T) {
	address := serve(t, closed{}, listen(t))
	for what, c := range map[string]struct {
		line, headers string
		want          int
	}{
		"a header of 70 KB":   {"GET /health", "X: " + strings.Repeat("x", 70<<10) + "\r\n", 431},
		"5,000 headers":       {"GET /health", strings.Repeat("X-Some-Header: a value\r\n", 5000), 431},
		"an address of 60 KB": {"GET /health?" + strings.Repeat("x", 60<<10), "", 200},
		"one of 80 KB":        {"GET /health?" + strings.Repeat("x", 80<<10), "", 431},
		"a call of 60 KB":     {"GET /api/" + strings.Repeat("x", 60<<10), "", 401},
		"9 MB of a stranger":  {"POST /api/machines", fmt.Sprintf("Content-Length: %d\r\n", 9<<20), 401},
		"9 MB of one of ours": {"POST /api/machines", fmt.Sprintf("Authorization: Bearer %s\r\nContent-Length: %d\r\n", testToken, 9<<20), 413},
		"1 KB of a stranger":  {"POST /open", fmt.Sprintf("Content-Length: %d\r\n", 2<<10), 413},
	} {
		body := ""
		if strings.HasPrefix(c.line, "POST") {
			body = `"` + strings.Repeat("x", 9<<20)
		}
		answers := said(t, address, c.line+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+c.headers+"\r\n"+body)
		if len(answers) != 1 || answers[0].StatusCode != c.want {
			t.Errorf("%s: %v", what, answers)
		}
	}
}

func TestHostileJSON(t *testing.T) {
	domain := &counted{}
	address := serve(t, domain, listen(t))
	send := func(path, body string) int {
		t.Helper()
		answers := said(t, address, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
			path, testToken, len(body), body))
		if len(answers) != 1 {
			t.Fatalf("%.80s: %v", body, answers)
		}
		return answers[0].StatusCode
	}
	deep := func(open, end string) string { return strings.Repeat(open, 1_000_000) + strings.Repeat(end, 1_000_000) }
	for what, body := range map[string]string{
		"deep":                     deep("[", "]"),
		"deep code":                `{"instruction":{"code":` + deep("[", "]") + `}}`,
		"deep, where nobody looks": `{"x":` + deep(`{"a":`, "}") + `}`,
		"deep without an end":      strings.Repeat("[", 5_000_000),
		"a control character":      "{\"instruction\":{\"code\":\"a\x01\"}}",
		"a line break":             "{\"instruction\":{\"code\":\"a\n\"}}",
		"bytes that are no text":   "{\"instruction\":{\"code\":\"a\xff\xc0\xafb\"}}",
		"half an escape":           `{"instruction":{"code":"\u12"}}`,
		"two values":               `{"instruction":{"code":"1"}}{"instruction":{"code":"evil"}}`,
		"something after it":       `{"instruction":{"code":"1"}}]`,
		"an array":                 `[]`,
		"a number":                 `1`,
		"code that is none":        `{"instruction":{"code":{}}}`,
		"time that is text":        `{"instruction":{"code":"1","timeout_seconds":"1"}}`,
		"negative time":            `{"instruction":{"code":"1","timeout_seconds":-1}}`,
		"no time":                  `{"instruction":{"code":"1","timeout_seconds":0}}`,
		"minus nothing":            `{"instruction":{"code":"1","timeout_seconds":-0.0}}`,
		"endless time":             `{"instruction":{"code":"1","timeout_seconds":1e999}}`,
		"no number":                `{"instruction":{"code":"1","timeout_seconds":NaN}}`,
		"infinity":                 `{"instruction":{"code":"1","timeout_seconds":Infinity}}`,
		"hexadecimal":              `{"instruction":{"code":"1","timeout_seconds":0x1}}`,
		"a number with a plus":     `{"instruction":{"code":"1","timeout_seconds":+1}}`,
		"a number with a zero":     `{"instruction":{"code":"1","timeout_seconds":01}}`,
	} {
		if status := send("/v1/machine/m/exec", body); status != 400 || domain.runs.Swap(0) != 0 {
			t.Errorf("%s: %d", what, status)
		}
	}
	for body, want := range map[string]string{
		`{"instruction":{"code":"a\ud800b"}}`:                                      "a\ufffdb",
		`{"instruction":{"code":"a\udc00\ud800"}}`:                                 "a\ufffd\ufffd",
		`{"instruction":{"code":"\ud83d\ude00\u0000"}}`:                            "😀\x00",
		`{"instruction":{"code":"last"},"__proto__":{"code":"x"}}`:                 "last",
		`{"instruction":{"code":"1","timeout_seconds":1e308}}`:                     "1",
		`{"instruction":{"code":"2","timeout_seconds":5e-324}}`:                    "2",
		`{"instruction":{"code":"3","timeout_seconds":` + fraction(100_000) + `}}`: "3",
	} {
		status := send("/v1/machine/m/exec", body)
		if domain.mu.Lock(); status != 200 || domain.code != want {
			t.Errorf("%.80s: %d, the code is %q", body, status, domain.code)
		}
		domain.mu.Unlock()
	}
	for _, memory := range []string{"1.5", "1e30", "9223372036854775808", "-9223372036854775809", `"1"`, "1e-1", "true", "[]"} {
		if status := send("/v1/machine/new", `{"memory_mb":`+memory+`}`); status != 400 {
			t.Errorf("%s MB of memory: %d", memory, status)
		}
	}
	var tags []string
	for i := range 10_000 {
		tags = append(tags, fmt.Sprintf(`"t%d":"x"`, i))
	}
	if status := send("/v1/machine/new", `{"tags":{`+strings.Join(tags, ",")+`}}`); status != 200 || len(domain.made.Tags) != 10_000 {
		t.Errorf("%d: the domain, which refuses so many, is told of %d tags", status, len(domain.made.Tags))
	}
}

// fraction is a number of one with so many digits after it.
func fraction(digits int) string { return "1." + strings.Repeat("1", digits) }

// The page's files are those of the page, however a path is written.
func TestPathsLeadNowhereElse(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"secret": "TOPSECRET", "page/index.html": "the page", "page/assets/a.js": "1"} {
		at := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	server := New(Config{
		Machines: closed{}, Token: testToken, Page: os.DirFS(filepath.Join(folder, "page")),
		Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	ts := httptest.NewServer(server)
	address := strings.TrimPrefix(ts.URL, "http://")
	for _, up := range []string{
		"/../secret", "/..%2fsecret", "/..%2Fsecret", "/%2e%2e/secret", "/%2e%2e%2fsecret", "/.%2e/secret", "/assets/../../secret", "/assets/..%2f..%2fsecret",
		"/assets/%2e%2e/%2e%2e/secret", "//../secret", "///../secret", "/./../secret", "/..;/secret", "/..%5csecret", "/..\\secret", "/assets\\..\\..\\secret",
		"/..%252fsecret", "/%c0%ae%c0%ae/secret", "/..%c0%afsecret", "/secret%00.js", "/..%00/secret", "/assets/a.js%00", "/%00", "/..%0d%0asecret",
		"/%0d%0aSet-Cookie:x", "/assets/a.js/../../../secret", "/assets/a.js%2f..%2f..%2f..%2fsecret", "/file:///etc/passwd", "/C:%5csecret", "/" + url.PathEscape(folder) + "/secret",
		"/" + folder + "/secret",
	} {
		for _, answer := range said(t, address, "GET "+up+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n") {
			body, _ := io.ReadAll(answer.Body)
			if answer.StatusCode == 200 && string(body) != "the page" && string(body) != "1" || strings.Contains(string(body), "TOPSECRET") || len(answer.Cookies()) > 0 {
				t.Errorf("%s: %d %q", up, answer.StatusCode, body)
			}
		}
	}
	// What is said in paths, headers and bodies begins no line of the log.
	for _, name := range []string{"a%0d%0a%7b%22level%22:%22ERROR%22%7d", "a%0aERROR", "a%1b%5b2J", "a%e2%80%ae", "a%00", "%ff%fe"} {
		said(t, address, "GET /api/machines/"+name+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Forevervm-Client: a\x1b[2J/\"}\r\n\r\n")
	}
	ts.Close()
	n := 0
	for line := range strings.Lines(log.String()) {
		n++
		var said struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(line), &said); err != nil || said.Level != "DEBUG" || strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\r\n\x00\x1b") {
			t.Errorf("the log holds %q, %v", line, err)
		}
	}
	if n < 30 {
		t.Errorf("the log has %d lines", n)
	}
}

// A file's name in a machine ends no header of the answer, and comes as something to be saved.
func TestNamesOfDownloads(t *testing.T) {
	for _, name := range []string{"a\r\nSet-Cookie: x=1", "a\"; filename=\"b.exe", "a\x00b", "\u202egnp.exe", "../../x", "", "/", "a;b", strings.Repeat("x", 10_000)} {
		w := httptest.NewRecorder()
		attachment(w, name, "text/html")
		for key, values := range w.Header() {
			for _, value := range values {
				if strings.ContainsAny(value, "\r\n\x00\u202e") {
					t.Errorf("%q: %s is %q", name, key, value)
				}
			}
		}
		kind, params, err := mime.ParseMediaType(w.Header().Get("Content-Disposition"))
		if err != nil || kind != "attachment" || len(params) > 1 || !strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%q: %v, %v", name, w.Header(), err)
		}
	}
}
