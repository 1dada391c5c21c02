package egress

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/forevervm/desktop/backend/egress/tlstest"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/secrets"
	"github.com/forevervm/desktop/backend/secrets/secretstest"
)

const (
	secretValue = "sk-the/real+value=0123456789"
	secretHost  = "api.service.example"
)

// secretWorld has a secret for one host, and two services under names that this computer trusts.
// What the services heard is in heard.
type secretWorld struct {
	*world
	secret secrets.Secret
	heard  []string
	answer func(http.ResponseWriter, *http.Request)
}

func newSecretWorld(t *testing.T) *secretWorld {
	t.Helper()
	authority := tlstest.NewAuthority(t)
	store := secrets.Open(filepath.Join(t.TempDir(), "secrets.json"), secretstest.Keyring{})
	one, err := store.Set("SERVICE_KEY", []string{secretHost}, nil, secretValue)
	if err != nil {
		t.Fatal(err)
	}
	s := &secretWorld{secret: one}
	s.world = newWorldWith(t, Config{Secrets: store, Getenv: func(name string) string {
		if name == "SSL_CERT_FILE" {
			return authority.File
		}
		return ""
	}}, machine.NetworkPublic)
	for host, address := range map[string]string{secretHost: "198.51.101.1", "other.example": "198.51.101.2"} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			s.mu.Lock()
			s.heard = append(s.heard, fmt.Sprint(r.Host, " ", r.Method, " ", r.URL, " ", r.Header, " ", string(body)))
			s.mu.Unlock()
			if s.answer != nil {
				s.answer(w, r)
			}
		}))
		server.TLS = &tls.Config{Certificates: []tls.Certificate{authority.Certificate(host)}}
		server.StartTLS()
		s.site(host, address, 443, server)
	}
	return s
}

// program is one in the machine: it trusts whom the machine is told to trust.
func (s *secretWorld) program() *http.Client {
	if others, _ := s.proxy.Belongings("m", "person-1"); others["SERVICE_KEY"] != "" {
		s.t.Error("a machine of somebody of a team has the placeholder")
	}
	env, authorities := s.proxy.Belongings("m", "")
	if env["SERVICE_KEY"] != s.secret.Placeholder {
		s.t.Errorf("the machine has %q", env["SERVICE_KEY"])
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authorities) {
		s.t.Error("the machine trusts nobody")
	}
	transport := &http.Transport{Proxy: http.ProxyURL(s.url), TLSClientConfig: &tls.Config{RootCAs: roots}}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (s *secretWorld) send(method, address string, header http.Header, body string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, address, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header = header
	program := s.program()
	defer program.CloseIdleConnections()
	answer, err := program.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Error(err)
	}
	return answer, string(text)
}

func (s *secretWorld) lastHeard() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.heard) == 0 {
		return ""
	}
	return s.heard[len(s.heard)-1]
}

// The host gets the value wherever keys are put, and the connection says so.
func TestASecretGoesToItsHost(t *testing.T) {
	s := newSecretWorld(t)
	basic := base64.StdEncoding.EncodeToString([]byte("user:" + s.secret.Placeholder))
	for _, header := range []http.Header{
		{"Authorization": {"Bearer " + s.secret.Placeholder}},
		{"X-Api-Key": {s.secret.Placeholder}},
		{"Authorization": {"Basic " + basic}},
	} {
		s.send("POST", "https://"+secretHost+"/v1", header, "question")
		want := secretValue
		if strings.HasPrefix(header.Get("Authorization"), "Basic") {
			want = base64.StdEncoding.EncodeToString([]byte("user:" + secretValue))
		}
		if heard := s.lastHeard(); !strings.Contains(heard, want) || strings.Contains(heard, s.secret.Placeholder) || !strings.HasSuffix(heard, "question") {
			t.Errorf("with %v the host hears %s", header, heard)
		}
	}
	s.send("HEAD", "https://"+secretHost+"/v1", http.Header{"Private-Token": {s.secret.Placeholder}}, "")
	if heard := s.lastHeard(); !strings.Contains(heard, secretValue) {
		t.Errorf("the host hears %s", heard)
	}
	s.send("GET", "https://"+secretHost+"/v1?a=b&key="+s.secret.Placeholder, nil, "")
	if heard := s.lastHeard(); !strings.Contains(heard, "/v1?a=b&key="+url.QueryEscape(secretValue)+" ") {
		t.Errorf("the host hears %s", heard)
	}
	if c := s.last(); len(c.Secrets) != 1 || c.Secrets[0] != "SERVICE_KEY" {
		t.Errorf("the connection carried %q", c.Secrets)
	}
}

// Nobody else gets it: not another host, not the body of a request, not the middle of a text, and
// not a machine that may not use it.
func TestASecretGoesNowhereElse(t *testing.T) {
	s := newSecretWorld(t)
	bearer := http.Header{"Authorization": {"Bearer " + s.secret.Placeholder}}
	s.send("GET", "https://other.example/", bearer, "")
	if heard := s.lastHeard(); strings.Contains(heard, secretValue) || !strings.Contains(heard, s.secret.Placeholder) {
		t.Errorf("another host hears %s", heard)
	}
	s.send("POST", "https://"+secretHost+"/", http.Header{"X-Note": {"it is " + s.secret.Placeholder + " or so"}}, s.secret.Placeholder)
	if heard := s.lastHeard(); strings.Contains(heard, secretValue) {
		t.Errorf("in other places the host hears %s", heard)
	}
	// A redirect is followed by the program in the machine, which has the placeholder alone.
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		if r.Host == secretHost {
			http.Redirect(w, r, "https://other.example/", http.StatusTemporaryRedirect)
		}
	}
	s.send("GET", "https://"+secretHost+"/", http.Header{"X-Api-Key": {s.secret.Placeholder}}, "")
	if heard := s.lastHeard(); !strings.HasPrefix(heard, "other.example ") || strings.Contains(heard, secretValue) {
		t.Errorf("after a redirect there is heard %s", heard)
	}
	// Its own request to another host over the connection to this one.
	r, _ := http.NewRequestWithContext(context.Background(), "GET", "https://"+secretHost+"/", http.NoBody)
	r.Host, r.Header = "other.example", bearer
	answer, err := s.program().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("a request for another host is answered %d", answer.StatusCode)
	}
	_, err = s.proxy.vault.secrets.(*secrets.Store).Set("SERVICE_KEY", []string{secretHost}, []machine.ID{"another"}, secretValue)
	if err != nil {
		t.Fatal(err)
	}
	if env, _ := s.proxy.Belongings("m", ""); env["SERVICE_KEY"] != "" {
		t.Error("a machine that may not use it has a placeholder")
	}
}

// What the host answers never has the value, however it says it.
func TestAnAnswerHasNoSecret(t *testing.T) {
	s := newSecretWorld(t)
	bearer := func() http.Header { return http.Header{"Authorization": {"Bearer " + s.secret.Placeholder}} }
	packed := func(text string) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, _ = io.WriteString(w, text)
		_ = w.Close()
		return out.Bytes()
	}
	for name, say := range map[string]func(http.ResponseWriter, *http.Request){
		"plainly": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "you are %s!", secretValue) },
		"in parts": func(w http.ResponseWriter, _ *http.Request) {
			for _, c := range "you are " + secretValue + "!" {
				_, _ = io.WriteString(w, string(c))
				w.(http.Flusher).Flush()
			}
		},
		"in a header": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-You", secretValue) },
		"in a trailer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-You")
			_, _ = io.WriteString(w, "you are")
			w.Header().Set("X-You", secretValue)
		},
		"before the answer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-You", secretValue)
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Del("X-You")
			w.WriteHeader(http.StatusOK)
		},
		"packed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed("you are " + secretValue + "!"))
		},
		"packed otherwise": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, secretValue)
		},
		"escaped": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, url.QueryEscape(secretValue)) },
		"in base 64": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, base64.StdEncoding.EncodeToString([]byte(secretValue)))
		},
		"as Basic authentication says it": func(w http.ResponseWriter, _ *http.Request) {
			for _, user := range []string{"u", "us", "use", "user"} {
				fmt.Fprintln(w, base64.URLEncoding.EncodeToString([]byte(user+":"+secretValue)))
			}
		},
		"in digits":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "%x", secretValue) },
		"as an error": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, secretValue, http.StatusTeapot) },
		"in JSON and HTML": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, strings.ReplaceAll(secretValue, "/", `\/`), html.EscapeString(secretValue), strings.ToLower(url.QueryEscape(secretValue)))
		},
		"in part": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 0-3/10")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = io.WriteString(w, secretValue)
		},
		"in wide letters": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=UTF-16")
			for _, c := range secretValue {
				fmt.Fprintf(w, "\x00%c", c)
			}
		},
		"a new protocol": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Upgrade", "x")
			w.Header().Set("Connection", "Upgrade")
			w.WriteHeader(http.StatusSwitchingProtocols)
		},
	} {
		s.answer = say
		answer, text := s.send("GET", "https://"+secretHost+"/", bearer(), "")
		all := fmt.Sprint(answer.Header, answer.Trailer, text)
		for _, form := range formsOf(secretValue) {
			if strings.Contains(all, form) {
				t.Errorf("%s, the answer is %s", name, all)
			}
		}
		if strings.Contains(strings.ReplaceAll(all, "\x00", ""), secretValue) {
			t.Errorf("%s, the answer is %q", name, all)
		}
		for _, word := range strings.Fields(text) { // whatever stands around it
			if plain, err := base64.URLEncoding.DecodeString(word); err == nil && strings.Contains(string(plain), secretValue) {
				t.Errorf("%s, the answer is %s", name, word)
			}
		}
		if name == "in parts" && text != "you are "+s.secret.Placeholder+"!" {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// However an answer comes, it is clean.
func TestScrubbing(t *testing.T) {
	s := newScrubber(map[string]string{"abab": "X", "babc": "Y", "abab:longer": "Z"})
	for text, want := range map[string]string{
		"": "", "ab": "ab", "aba": "aba", "abab": "X", "ababab": "Xab", "xababcx": "xXcx", "babc": "Y", "bababc": "bXc",
		"abab:longer": "Z", "ab\nabab\nab": "ab\nX\nab", "YWJhYg": "Xg",
	} {
		for name, from := range map[string]io.Reader{"at once": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text))} {
			got, err := io.ReadAll(s.body(io.NopCloser(from)))
			if err != nil || strings.Contains(string(got), "abab") || strings.Contains(string(got), "babc") || name == "at once" && string(got) != want {
				t.Errorf("%q %s is %q, want %q, %v", text, name, got, want, err)
			}
		}
	}
}

// pieces counts what was read of it.
type pieces struct {
	io.Reader
	read int
}

func (p *pieces) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b[:1])
	p.read += n
	return n, err
}

// How soon an answer is passed on tells nothing of the values: a machine that has its own text come
// back could guess them letter by letter. The end of a line is passed on at once.
func TestWhatIsHeldTellsNothing(t *testing.T) {
	s := newScrubber(map[string]string{secretValue: "X"})
	soon := func(text string) (steps []string) {
		from := &pieces{Reader: strings.NewReader(text)}
		body := s.body(io.NopCloser(from))
		for b := make([]byte, 1000); ; {
			n, err := body.Read(b)
			if err != nil {
				return steps
			}
			steps = append(steps, fmt.Sprint(from.read, " ", n))
		}
	}
	around := strings.Repeat("something ", 20)
	right, wrong := soon(around+secretValue[:8]+around), soon(around+"sk-tho/r"+around)
	if !slices.Equal(right, wrong) {
		t.Errorf("a right guess is passed on as %q, a wrong one as %q", right, wrong)
	}
	if lines := soon("data: a\n\ndata"); lines[0] != "8 8" {
		t.Errorf("a line is passed on as %q", lines)
	}
}

// The authority is the same each time that it is made, and of no use to others.
func TestAuthorities(t *testing.T) {
	one, err := newAuthority(bytes.Repeat([]byte{7}, 32))
	again, err2 := newAuthority(bytes.Repeat([]byte{7}, 32))
	other, err3 := newAuthority(bytes.Repeat([]byte{8}, 32))
	if err != nil || err2 != nil || err3 != nil || !bytes.Equal(one.pem, again.pem) || bytes.Equal(one.pem, other.pem) {
		t.Fatalf("%s, %s, %s", one.pem, again.pem, other.pem)
	}
	cert, err := again.certificate(secretHost)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	for a, trusted := range map[*authority]bool{one: true, other: false} {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(a.pem)
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: secretHost}); (err == nil) != trusted {
			t.Error(err)
		}
	}
}

// What could lead a value elsewhere is refused, and what could split it in an answer is not asked
// for.
func TestOddRequestsCarryNoSecret(t *testing.T) {
	s := newSecretWorld(t)
	bearer := "Authorization: Bearer " + s.secret.Placeholder
	for request, want := range map[string]string{
		"GET x:http://other.example/?key=" + s.secret.Placeholder + " HTTP/1.1\r\nHost: " + secretHost:         "400",
		"TRACE / HTTP/1.1\r\nHost: " + secretHost + "\r\n" + bearer:                                            "400",
		"CONNECT " + secretHost + ":443 HTTP/1.1\r\nHost: " + secretHost + "\r\n" + bearer:                     "400",
		"GET / HTTP/1.1\r\nHost: other.example\r\n" + bearer:                                                   "421",
		"GET / HTTP/1.1\r\nHost: " + secretHost + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" + bearer: "502",
	} {
		before := s.lastHeard()
		if got := s.spoken(request); !strings.HasPrefix(got, "HTTP/1.1 "+want) {
			t.Errorf("%q is answered %.80q, want %s", request, got, want)
		}
		if heard := s.lastHeard(); heard != before {
			t.Errorf("after %q the host hears %s", request, heard)
		}
	}
	s.send("GET", "https://"+secretHost+"/?text="+s.secret.Placeholder, http.Header{
		"X-Amz-Meta-Key": {s.secret.Placeholder}, "User-Agent": {s.secret.Placeholder}, "Range": {"bytes=0-3"}, "Request-Range": {"bytes=0-3"},
	}, "")
	if heard := s.lastHeard(); strings.Contains(heard, secretValue) || strings.Contains(heard, url.QueryEscape(secretValue)) || strings.Contains(heard, "bytes=") {
		t.Errorf("the host hears %s", heard)
	}
}

// spoken is what is answered to a request that no library would make.
func (s *secretWorld) spoken(request string) string {
	s.t.Helper()
	_, authorities := s.proxy.Belongings("m", "")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authorities)
	conn, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", s.url.Host)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n\r\n", secretHost, secretHost)
	in := bufio.NewReader(conn)
	for line := ""; line != "\r\n"; {
		if line, err = in.ReadString('\n'); err != nil {
			s.t.Fatal(err)
		}
	}
	secured := tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: secretHost})
	fmt.Fprintf(secured, "%s\r\nConnection: close\r\n\r\n", request)
	answer, _ := io.ReadAll(secured)
	return string(answer)
}

// locked is a keyring that gives nothing.
type locked struct{ secretstest.Keyring }

func (locked) Get(string) (string, error) { return "", errors.New("it is locked") }

// A keyring that fails holds up no machine that wakes.
func TestAMachineDoesNotWaitForAKeyringThatFails(t *testing.T) {
	store := secrets.Open(filepath.Join(t.TempDir(), "secrets.json"), locked{secretstest.Keyring{}})
	one, err := store.Set("SERVICE_KEY", []string{secretHost}, nil, secretValue)
	if err != nil {
		t.Fatal(err)
	}
	proxy := New(Config{Secrets: store})
	defer proxy.Close()
	began := time.Now()
	if env, _ := proxy.Belongings("m", ""); env["SERVICE_KEY"] != one.Placeholder || time.Since(began) > keyringPatience/2 {
		t.Errorf("the machine has %q after %v", env["SERVICE_KEY"], time.Since(began))
	}
}
