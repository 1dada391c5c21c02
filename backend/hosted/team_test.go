//go:build linux && real

package hosted_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/connect/connecttest"
	"github.com/forevervm/desktop/backend/credentials"
	"github.com/forevervm/desktop/backend/credentials/keyringtest"
	"github.com/forevervm/desktop/backend/egress/tlstest"
	"github.com/forevervm/desktop/backend/wire"
)

// company has a team's daemon, an authority that its computers trust, and people with desktops.
type company struct {
	t      *testing.T
	daemon *connecttest.Daemon
	admin  *client.Client
	url    string       // as people reach the daemon
	http   *http.Client // trusts the authority, which is not known when this process starts
}

// colleague is one of them, who is signed in.
type colleague struct {
	t       *testing.T
	id      string
	token   string
	desktop *client.Client
}

func newCompany(t *testing.T) *company {
	t.Helper()
	keyring, err := keyringtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := keyring.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Setenv(keyringtest.Variable, keyring.Address)
	t.Setenv(credentials.TokenVariable, "")
	t.Setenv("HOME", t.TempDir())
	authority := tlstest.NewAuthority(t)
	t.Setenv("SSL_CERT_FILE", authority.File)
	files := t.TempDir()
	certificate, key := tlstest.PEM(t, authority.Certificate("127.0.0.1"))
	for name, text := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(files, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM)
	c := &company{t: t, http: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}}
	t.Cleanup(c.http.CloseIdleConnections)
	c.daemon = connecttest.Start(t, connecttest.Home(t), "--listen", "127.0.0.1:0", "--tls-cert", filepath.Join(files, "tls.crt"), "--tls-key", filepath.Join(files, "tls.key"))
	at, err := url.Parse(c.daemon.Team)
	if err != nil || at.Scheme != "https" {
		t.Fatalf("people reach it at %q, %v", c.daemon.Team, err)
	}
	c.url = "https://127.0.0.1:" + at.Port()
	c.admin = c.daemon.Client("admin")
	t.Cleanup(c.admin.Close)
	return c
}

// direct is a client without a desktop.
func (c *company) direct(token string) *client.Client {
	direct := client.New(c.url, token, client.Options{HTTPClient: c.http})
	c.t.Cleanup(direct.Close)
	return direct
}

// joins adds a person, who signs in on a desktop of their own.
func (c *company) joins(name string) *colleague {
	c.t.Helper()
	made, err := c.admin.AddPerson(c.t.Context(), name)
	if err != nil {
		c.t.Fatal(err)
	}
	p := &colleague{t: c.t, id: made.Person.ID, token: made.Token, desktop: connecttest.Start(c.t, connecttest.Home(c.t)).Client(name)}
	c.t.Cleanup(p.desktop.Close)
	now, err := p.desktop.SignIn(c.t.Context(), api.HostedLogin{Server: c.url, Token: p.token})
	if err != nil || !now.SignedIn || now.Account != name || now.Server != c.url {
		c.t.Fatalf("%s signed in: %+v, %v", name, now, err)
	}
	return p
}

// makes makes a hosted machine.
func (p *colleague) makes() string {
	p.t.Helper()
	m, err := p.desktop.CreateMachine(p.t.Context(), api.NewMachine{Engine: "hosted"})
	if err != nil {
		p.t.Fatal(err)
	}
	return m.Name
}

// runs runs code and returns its value.
func (p *colleague) runs(name, code string) string {
	p.t.Helper()
	in, _, err := p.desktop.Execute(p.t.Context(), name, api.Execute{Code: code})
	if err == nil {
		in, err = p.desktop.Wait(p.t.Context(), name, in.Seq)
	}
	if err != nil || in.Value == nil {
		p.t.Fatalf("%q in %s: %+v, %v", code, name, in, err)
	}
	return *in.Value
}

// sees are the machines of the service, as the desktop lists them.
func (p *colleague) sees() (names []string) {
	p.t.Helper()
	page, err := p.desktop.Machines(p.t.Context(), client.MachineFilter{Engine: "hosted"})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, m := range page.Items {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// Two people use one daemon as they use the hosted service, each from a desktop of their own.
func TestATeam(t *testing.T) {
	c, ctx := newCompany(t), t.Context()
	if err := os.MkdirAll(filepath.Join(c.daemon.Home, "ForeverVM"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.daemon.Home, "ForeverVM", "salaries.csv"), []byte("a,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	anna, ben := c.joins("Anna"), c.joins("Ben")
	annas, bens := anna.makes(), ben.makes()
	own, err := c.admin.CreateMachine(ctx, api.NewMachine{Name: "admins"})
	if err != nil {
		t.Fatal(err)
	}

	t.Run("each runs code in their own machine", func(t *testing.T) {
		anna.runs(annas, "x = 6 * 7\nx")
		ben.runs(bens, "x = 'b'\nx")
		if x, y := anna.runs(annas, "x"), ben.runs(bens, "x"); x != "42" || y != "'b'" {
			t.Errorf("%s, %s", x, y)
		}
	})

	t.Run("each sees their own machines alone", func(t *testing.T) {
		other := anna.makes()
		mine := []string{annas, other}
		slices.Sort(mine)
		connecttest.Eventually(t, "both lists are as they should be", func() bool {
			return slices.Equal(anna.sees(), mine) && slices.Equal(ben.sees(), []string{bens})
		})
		if _, err := ben.desktop.Machine(ctx, annas); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("Ben finds Anna's machine: %v", err)
		}
		direct := c.direct(ben.token)
		there := direct.Wire()
		for _, name := range []string{annas, own.Name, "brave-otter-0"} {
			if _, err := there.Exec(ctx, name, wire.Exec{Instruction: wire.Instruction{Code: "x"}}); !errors.Is(err, client.ErrNotFound) {
				t.Errorf("Ben runs code in %s: %v", name, err)
			}
			if _, err := there.Result(ctx, name, 0); !errors.Is(err, client.ErrNotFound) {
				t.Errorf("Ben has a result of %s: %v", name, err)
			}
			if _, err := there.Repl(ctx, name); !errors.Is(err, client.ErrNotFound) {
				t.Errorf("Ben has a socket of %s: %v", name, err)
			}
		}
		if list, err := there.List(ctx, nil); err != nil || len(list) != 1 || list[0].Name != bens {
			t.Errorf("%+v, %v", list, err)
		}
		if who, err := there.Whoami(ctx); err != nil || who.Account != "Ben" {
			t.Errorf("%+v, %v", who, err)
		}
		// What the daemon has beside the wire is not there for a client either.
		if _, err := direct.Settings(ctx); !errors.Is(err, client.ErrUnsupported) {
			t.Errorf("settings: %v", err)
		}
	})

	t.Run("the administrator sees all, and whose they are", func(t *testing.T) {
		page, err := c.admin.Machines(ctx, client.MachineFilter{})
		if err != nil {
			t.Fatal(err)
		}
		owners := map[string]string{}
		for _, m := range page.Items {
			owners[m.Name] = m.Owner
		}
		if owners[annas] != "Anna" || owners[bens] != "Ben" || owners[own.Name] != "" || len(owners) != 4 {
			t.Errorf("%v", owners)
		}
		fork, err := c.admin.Fork(ctx, annas, api.NewMachine{})
		if err != nil || fork.Owner != "Anna" {
			t.Fatalf("a copy of Anna's: %+v, %v", fork, err)
		}
		if err := c.admin.PurgeMachine(ctx, fork.Name); err != nil {
			t.Error(err)
		}
	})

	t.Run("where the administrator's machines are made does not matter", func(t *testing.T) {
		if _, err := c.admin.ChangeSettings(ctx, map[string]any{"new_machines": "hosted"}); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := c.admin.ChangeSettings(ctx, map[string]any{"new_machines": nil}); err != nil {
				t.Error(err)
			}
		}()
		name, err := c.direct(ben.token).Wire().New(ctx, wire.NewMachine{})
		if err != nil {
			t.Fatal(err)
		}
		if m, err := c.admin.Machine(ctx, name); err != nil || m.Engine != "native" || m.Owner != "Ben" {
			t.Errorf("%+v, %v", m, err)
		}
	})

	t.Run("what is in the administrator's folder is theirs alone", func(t *testing.T) {
		const look = "import os\nos.path.exists('/root/inbox/salaries.csv')"
		if there := anna.runs(annas, look); there != "False" {
			t.Errorf("Anna's machine has it: %s", there)
		}
		in, _, err := c.admin.Execute(ctx, own.Name, api.Execute{Code: look})
		if err == nil {
			in, err = c.admin.Wait(ctx, own.Name, in.Seq)
		}
		if err != nil || in.Value == nil || *in.Value != "True" {
			t.Errorf("the administrator's does not: %+v, %v", in, err)
		}
	})

	t.Run("a new token ends the one before", func(t *testing.T) {
		made, err := c.admin.RenewPerson(ctx, anna.id)
		if err != nil {
			t.Fatal(err)
		}
		direct := c.direct(anna.token)
		if _, err := direct.Wire().Whoami(ctx); !errors.Is(err, client.ErrUnauthorized) {
			t.Errorf("the old token: %v", err)
		}
		if now, err := anna.desktop.SignIn(ctx, api.HostedLogin{Server: c.url, Token: made.Token}); err != nil || !now.SignedIn {
			t.Fatalf("%+v, %v", now, err)
		}
		anna.token = made.Token
		connecttest.Eventually(t, "Anna's machine is there again", func() bool { return slices.Contains(anna.sees(), annas) })
		if x := anna.runs(annas, "x"); x != "42" {
			t.Errorf("it holds %s", x)
		}
	})

	t.Run("who is removed is out at once, and the machines stay", func(t *testing.T) {
		direct := c.direct(anna.token)
		repl, err := direct.Wire().Repl(ctx, annas)
		if err != nil {
			t.Fatal(err)
		}
		defer repl.Close()
		closed := make(chan error, 1)
		begun := make(chan struct{})
		go func() {
			_, _, err := repl.Exec(ctx, wire.Instruction{Code: "import time\nprint('begun')\ntime.sleep(3600)", TimeoutSeconds: new(float64(7200))}, func(wire.Chunk) error { close(begun); return nil })
			closed <- err
		}()
		<-begun
		gone, err := c.admin.RemovePerson(ctx, anna.id)
		if err != nil || gone.RemovedAt == nil || gone.Machines != 2 {
			t.Errorf("%+v, %v", gone, err)
		}
		if err := <-closed; err == nil {
			t.Error("the socket goes on")
		}
		connecttest.Eventually(t, "Anna's desktop says why", func() bool {
			now, err := anna.desktop.Hosted(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Contains(now.Problem, "does not accept your token")
		})
		if m, err := c.admin.Machine(ctx, annas); err != nil || m.Owner != "Anna (removed)" || m.State != "running" {
			t.Errorf("%+v, %v", m, err)
		}
		if _, err := c.admin.Interrupt(ctx, annas); err != nil {
			t.Error(err)
		}
		if x := ben.runs(bens, "x"); x != "'b'" {
			t.Errorf("Ben's holds %s", x)
		}
		record, err := c.admin.Record(ctx, 10)
		if err != nil || !slices.ContainsFunc(record.Items, func(e api.RecordEntry) bool { return e.Action == "person" && e.About == "removed: Anna" }) {
			t.Errorf("%+v, %v", record.Items, err)
		}
	})

	t.Run("a computer that does not know the authority sends no token", func(t *testing.T) {
		t.Setenv("SSL_CERT_FILE", tlstest.NewAuthority(t).File)
		stranger := connecttest.Start(t, connecttest.Home(t)).Client("stranger")
		defer stranger.Close()
		if now, err := stranger.SignIn(ctx, api.HostedLogin{Server: c.url, Token: ben.token}); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%+v, %v", now, err)
		}
	})

	t.Run("no token is in a file or a process", func(t *testing.T) {
		for _, token := range []string{anna.token, ben.token} {
			nowhere(t, c.daemon, token)
		}
	})
}
