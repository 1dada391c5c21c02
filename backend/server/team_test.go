package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/forevervm/desktop/backend/access"
	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/audit"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/wire"
)

// ownedMachines are a domain with machines of several owners.
type ownedMachines struct {
	closed
	waiting chan struct{} // what runs there runs for ever, and each who waits for it is told of; nil: it has ended

	mu   sync.Mutex
	all  []machine.Machine
	used []string // machines that were used, other than found
}

type ownedHandle struct {
	machine.Handle
	of *ownedMachines
	m  machine.Machine
}

func (o *ownedMachines) Find(_ context.Context, name string) (machine.Handle, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.all {
		if m.Name == name {
			return ownedHandle{of: o, m: m}, nil
		}
	}
	return nil, machine.NoMachine(name)
}

func (o *ownedMachines) List(_ context.Context, f machine.Filter) (machine.Page[machine.Machine], error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return machine.Choose(slices.Clone(o.all), f)
}

func (o *ownedMachines) Create(_ context.Context, opts machine.CreateOptions) (machine.Machine, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := machine.Machine{ID: machine.NewID(), Name: "new-of-" + opts.Owner, Owner: opts.Owner, State: machine.Swapped}
	o.all = append(o.all, m)
	return m, nil
}

func (h ownedHandle) use() {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.used = append(h.of.used, h.m.Name)
}

func (h ownedHandle) Name() string { return h.m.Name }

func (h ownedHandle) Machine() machine.Machine { return h.m }

func (h ownedHandle) Execute(_ context.Context, opts machine.ExecuteOptions) (machine.Instruction, bool, error) {
	h.use()
	if h.m.State == machine.Deleted {
		return machine.Instruction{}, false, machine.Conflict("It is in the bin.")
	}
	return machine.Instruction{Code: opts.Code, Status: machine.StatusQueued}, false, nil
}

func (h ownedHandle) Instruction(context.Context, int) (machine.Instruction, error) {
	h.use()
	return machine.Instruction{Status: machine.StatusRunning}, nil
}

func (h ownedHandle) Wait(ctx context.Context, _ int) (machine.Instruction, error) {
	h.use()
	if h.of.waiting == nil {
		return machine.Instruction{Status: machine.StatusOK}, nil
	}
	h.of.waiting <- struct{}{}
	<-ctx.Done()
	return machine.Instruction{}, ctx.Err()
}

func (h ownedHandle) Follow(ctx context.Context, seq, _ int, _ func(machine.Item) error) (machine.Instruction, error) {
	return h.Wait(ctx, seq)
}

// team is a daemon of Anna, Ben and its own user, with a machine of each and one of Anna's in the
// bin.
type team struct {
	t           *testing.T
	server      *Server
	domain      *ownedMachines
	anna, ben   access.Person
	annas, bens string // tokens
	net, home   string // addresses of both doors
	client      *http.Client
	programs    []string // tokens that open the door of this computer
}

func newTeam(t *testing.T) *team {
	t.Helper()
	keep := func([]byte) error { return nil }
	people, err := access.OpenPeople(filepath.Join(t.TempDir(), "people.json"), keep)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := access.Open(filepath.Join(t.TempDir(), "tokens.json"), testToken, programsToken, keep)
	if err != nil {
		t.Fatal(err)
	}
	record, err := audit.Open(filepath.Join(t.TempDir(), "record.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	w := &team{t: t, programs: []string{testToken, programsToken, access.ForApp(testToken, "Cursor")}}
	if w.anna, w.annas, err = people.Add("Anna"); err != nil {
		t.Fatal(err)
	}
	if w.ben, w.bens, err = people.Add("Ben"); err != nil {
		t.Fatal(err)
	}
	tags := map[string]string{"k": "v"}
	w.domain = &ownedMachines{all: []machine.Machine{
		{ID: "1", Name: "annas", Owner: w.anna.ID, Tags: tags, State: machine.Idle},
		{ID: "2", Name: "bens", Owner: w.ben.ID, Tags: tags, State: machine.Idle},
		{ID: "3", Name: "daemons", Tags: tags, State: machine.Idle},
		{ID: "4", Name: "annas-old", Owner: w.anna.ID, State: machine.Deleted},
	}}
	w.server = New(Config{
		Machines: w.domain, Token: testToken, Keys: keys, People: people, Record: record, Account: "local",
		MCP: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s is reached", r.URL.Path) }),
	})
	overNet := httptest.NewTLSServer(http.HandlerFunc(w.server.serveTeam))
	t.Cleanup(overNet.Close)
	here := httptest.NewServer(w.server)
	t.Cleanup(here.Close)
	w.net, w.home, w.client = overNet.URL, here.URL, overNet.Client()
	return w
}

// ask sends a request, and returns the answer with its body read.
func (w *team) ask(method, address, token, body string) (status int, said string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

// call is a route's pattern as a request for a machine.
func call(pattern, name string) (method, path string) {
	method, path, ok := strings.Cut(pattern, " ")
	if !ok {
		method, path = http.MethodGet, pattern
	}
	return method, strings.NewReplacer("{name}", name, "{seq}", "0", "{", "", "}", "").Replace(path)
}

// Each route of the daemon is asked with a person's token. A call that is new is not for people
// until somebody says otherwise, here as well.
func TestWhatPeopleOpen(t *testing.T) {
	w := newTeam(t)
	opens := strings.Fields(`GET/v1/whoami POST/v1/machine/new POST/v1/machine/list GET/v1/machine/list POST/v1/machine/{name}/exec
		GET/v1/machine/{name}/exec/{seq}/result GET/v1/machine/{name}/exec/{seq}/stream-result GET/v1/machine/{name}/repl`)
	alone := map[string]bool{"GET /health": true, "POST /internal/signup": true} // the team's door has its own
	for _, route := range w.server.routes() {
		if want := slices.Contains(opens, strings.Replace(route.pattern, " ", "", 1)); want != route.people {
			t.Errorf("%s is open to people: %v", route.pattern, route.people)
		}
		for _, name := range []string{"annas", "bens", "daemons"} {
			method, path := call(route.pattern, name)
			if status, said := w.ask(method, w.home+path, w.annas, "{}"); !route.open && status != http.StatusUnauthorized {
				t.Errorf("at the door of this computer %s: %d %s", route.pattern, status, said)
			}
			switch status, said := w.ask(method, w.net+path, w.annas, "{}"); {
			case alone[route.pattern]:
			case !route.people && status != http.StatusNotFound:
				t.Errorf("%s: %d %s", route.pattern, status, said)
			case route.people && strings.Contains(route.pattern, "{name}") && name != "annas" && status != http.StatusNotFound && status != http.StatusUpgradeRequired:
				t.Errorf("%s of %s: %d %s", route.pattern, name, status, said)
			}
			if !route.people {
				continue
			}
			for _, token := range append(w.programs, "", "a.b", w.anna.ID, w.anna.Hash) {
				if status, said := w.ask(method, w.net+path, token, "{}"); status != http.StatusUnauthorized || errorCode(t, said) != "Unauthorized" {
					t.Errorf("%s with %q: %d %s", route.pattern, token, status, said)
				}
			}
		}
	}
	w.domain.mu.Lock()
	defer w.domain.mu.Unlock()
	if slices.ContainsFunc(w.domain.used, func(name string) bool { return name != "annas" }) {
		t.Errorf("Anna used %v", w.domain.used)
	}
}

// Another's machine is answered as one that there is not, to the letter.
func TestAnothersMachineIsNone(t *testing.T) {
	w := newTeam(t)
	for _, route := range w.server.routes() {
		if !route.people || !strings.Contains(route.pattern, "{name}") {
			continue
		}
		body := `{"instruction": {"code": "1"}}`
		method, path := call(route.pattern, "nobodys")
		status, none := w.ask(method, w.net+path, w.annas, body)
		for _, name := range []string{"bens", "daemons"} {
			method, path := call(route.pattern, name)
			if now, said := w.ask(method, w.net+path, w.annas, body); now != status || strings.ReplaceAll(said, name, "nobodys") != none {
				t.Errorf("%s of %s: %d %s, of none: %d %s", route.pattern, name, now, said, status, none)
			}
		}
	}
	for name, want := range map[string]int{"annas": http.StatusSwitchingProtocols, "bens": 404, "daemons": 404, "nobodys": 404, "annas-old": 404} {
		conn, resp, _ := websocket.Dial(t.Context(), w.net+"/v1/machine/"+name+"/repl?"+wire.TokenParameter+"="+w.annas, &websocket.DialOptions{HTTPClient: w.client})
		if resp == nil || resp.StatusCode != want {
			t.Errorf("the socket of %s: %+v", name, resp)
		}
		if conn != nil {
			_ = conn.CloseNow()
		}
	}
	// What is theirs and in the bin is told, with who can help.
	if status, said := w.ask("POST", w.net+"/v1/machine/annas-old/exec", w.annas, `{"instruction": {"code": "1"}}`); status != 404 || !strings.Contains(said, "administrator") {
		t.Errorf("%d %s", status, said)
	}
}

func TestListsHoldOwnMachines(t *testing.T) {
	w := newTeam(t)
	names := func(address, token, method, path, body string) string {
		t.Helper()
		status, said := w.ask(method, address+path, token, body)
		var all struct {
			Machines []wire.Machine
			Items    []api.Machine
		}
		if err := json.Unmarshal([]byte(said), &all); err != nil || status != 200 {
			t.Errorf("%d %s", status, said)
		}
		found := []string{}
		for _, m := range all.Machines {
			found = append(found, m.Name)
		}
		for _, m := range all.Items {
			found = append(found, m.Name+"/"+m.Owner)
		}
		slices.Sort(found)
		return strings.Join(found, " ")
	}
	for _, list := range []struct{ address, token, method, path, body, want string }{
		{w.net, w.annas, "GET", "/v1/machine/list", "", "annas"},
		{w.net, w.annas, "POST", "/v1/machine/list", "{}", "annas"},
		{w.net, w.bens, "POST", "/v1/machine/list", `{"tags": {"k": "v"}}`, "bens"},
		{w.net, w.bens, "POST", "/v1/machine/list", `{"tags": {"k": "w"}}`, ""},
		{w.home, programsToken, "GET", "/v1/machine/list", "", "daemons"},
		{w.home, programsToken, "GET", "/api/machines", "", "daemons/"},
		{w.home, access.ForApp(testToken, "Cursor"), "GET", "/api/machines?deleted=true", "", ""},
		{w.home, testToken, "GET", "/v1/machine/list", "", "annas bens daemons"},
		{w.home, testToken, "GET", "/api/machines", "", "annas/Anna bens/Ben daemons/"},
		{w.home, testToken, "GET", "/api/machines?deleted=true", "", "annas-old/Anna"},
	} {
		if got := names(list.address, list.token, list.method, list.path, list.body); got != list.want {
			t.Errorf("%s %s %s: %q, want %q", list.method, list.path, list.body, got, list.want)
		}
	}
	// AI apps and programs do not reach people's machines either.
	for _, token := range []string{programsToken, access.ForApp(testToken, "Cursor")} {
		if status, said := w.ask("GET", w.home+"/api/machines/annas", token, ""); status != 404 || errorCode(t, said) != "MachineNotFound" {
			t.Errorf("%d %s", status, said)
		}
	}
	if status, said := w.ask("GET", w.home+"/api/machines/annas", testToken, ""); status != 200 || !strings.Contains(said, `"owner":"Anna"`) {
		t.Errorf("%d %s", status, said)
	}

	// What they make is theirs.
	for token, want := range map[string]string{w.annas: "Anna", w.bens: "Ben"} {
		status, said := w.ask("GET", w.net+"/v1/whoami", token, "")
		if status != 200 || said != `{"account":"`+want+`"}`+"\n" {
			t.Errorf("%d %s", status, said)
		}
	}
	if status, said := w.ask("POST", w.net+"/v1/machine/new", w.annas, "{}"); status != 200 || !strings.Contains(said, w.anna.ID) {
		t.Errorf("%d %s", status, said)
	}
	conn, _, err := websocket.Dial(t.Context(), w.net+"/v1/machine/new/repl", &websocket.DialOptions{HTTPClient: w.client, HTTPHeader: http.Header{"Authorization": {"Bearer " + w.bens}}})
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.CloseNow()
	if got := names(w.net, w.annas, "GET", "/v1/machine/list", ""); got != "annas new-of-"+w.anna.ID {
		t.Errorf("Anna has %s", got)
	}
	if got := names(w.net, w.bens, "GET", "/v1/machine/list", ""); got != "bens new-of-"+w.ben.ID {
		t.Errorf("Ben has %s", got)
	}
}

// Who is removed, or gets a new token, loses what is open. Others keep theirs.
func TestWhatIsOpenEndsWithTheToken(t *testing.T) {
	for what, end := range map[string]func(w *team){
		"removed": func(w *team) {
			if status, said := w.ask("DELETE", w.home+"/api/people/"+w.anna.ID, testToken, ""); status != 200 || !strings.Contains(said, `"machines":1`) {
				t.Errorf("%d %s", status, said)
			}
		},
		"renewed": func(w *team) {
			if status, said := w.ask("POST", w.home+"/api/people/"+w.anna.ID+"/token", testToken, ""); status != 200 || !strings.Contains(said, `"token":"person-`) {
				t.Errorf("%d %s", status, said)
			}
		},
	} {
		w := newTeam(t)
		w.domain.waiting = make(chan struct{}, 10)
		var ended sync.WaitGroup
		for _, path := range []string{"result", "stream-result"} {
			ended.Go(func() { w.ask("GET", w.net+"/v1/machine/annas/exec/0/"+path, w.annas, "") })
		}
		open := func(name, token string) *websocket.Conn {
			conn, _, err := websocket.Dial(t.Context(), w.net+"/v1/machine/"+name+"/repl", &websocket.DialOptions{HTTPClient: w.client, HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.CloseNow() })
			if _, _, err := conn.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
			return conn
		}
		annas, bens := open("annas", w.annas), open("bens", w.bens)
		for range 2 {
			<-w.domain.waiting
		}
		end(w)
		ended.Wait()
		if _, _, err := annas.Read(t.Context()); err == nil {
			t.Errorf("%s: the socket says something", what)
		}
		if status, said := w.ask("GET", w.net+"/v1/whoami", w.annas, ""); status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", what, status, said)
		}
		if err := bens.Write(t.Context(), websocket.MessageText, []byte(`{"type": "exec", "instruction": {"code": "1"}, "request_id": 1}`)); err != nil {
			t.Error(err)
		}
		if _, said, err := bens.Read(t.Context()); err != nil || !strings.Contains(string(said), "exec_received") {
			t.Errorf("%s: Ben's socket says %s, %v", what, said, err)
		}
	}
}

func TestPeopleOverTheAPI(t *testing.T) {
	w := newTeam(t)
	for _, test := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"POST", "/api/people", `{"name": ""}`, 400, "Invalid"},
		{"POST", "/api/people", `{"name": "anna"}`, 409, "NameTaken"},
		{"DELETE", "/api/people/person-0", "", 404, "PersonNotFound"},
		{"POST", "/api/people/person-0/token", "", 404, "PersonNotFound"},
	} {
		if status, said := w.ask(test.method, w.home+test.path, testToken, test.body); status != test.status || errorCode(t, said) != test.code {
			t.Errorf("%+v: %d %s", test, status, said)
		}
	}
	list := func() (found []api.Person) {
		t.Helper()
		var page api.List[api.Person]
		if status, said := w.ask("GET", w.home+"/api/people", testToken, ""); status != 200 || json.Unmarshal([]byte(said), &page) != nil || strings.Contains(said, w.anna.Hash) {
			t.Errorf("%d %s", status, said)
		}
		return page.Items
	}
	if all := list(); len(all) != 2 || all[0].Name != "Anna" || all[0].Machines != 1 || all[1].Machines != 1 {
		t.Errorf("%+v", all)
	}
	// Who was removed is told while they have machines, and by another name than who comes after.
	w.ask("DELETE", w.home+"/api/people/"+w.anna.ID, testToken, "")
	status, said := w.ask("POST", w.home+"/api/people", testToken, `{"name": "Anna"}`)
	var made api.MadePerson
	if err := json.Unmarshal([]byte(said), &made); err != nil || status != 200 || made.Person.ID == w.anna.ID {
		t.Fatalf("%d %s", status, said)
	}
	if all := list(); len(all) != 3 || all[0].RemovedAt == nil || all[2].Machines != 0 {
		t.Errorf("%+v", all)
	}
	if status, said := w.ask("GET", w.home+"/api/machines/annas", testToken, ""); status != 200 || !strings.Contains(said, `"owner":"Anna (removed)"`) {
		t.Errorf("%d %s", status, said)
	}
	if status, said := w.ask("POST", w.net+"/v1/machine/annas/exec", made.Token, `{"instruction": {"code": "1"}}`); status != 404 {
		t.Errorf("another of the same name has the machine: %d %s", status, said)
	}
	if _, said := w.ask("GET", w.home+"/api/record", testToken, ""); !strings.Contains(said, `"about":"removed: Anna"`) || !strings.Contains(said, `"about":"added: Anna"`) || strings.Contains(said, made.Token) {
		t.Errorf("the record is %s", said)
	}
}

// Pages have no business at the door of people, and a stranger learns nothing there.
func TestTheDoorOfPeople(t *testing.T) {
	w := newTeam(t)
	req, err := http.NewRequestWithContext(t.Context(), "GET", w.net+"/v1/whoami", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.annas)
	req.Host = "forevervm.company.example"
	for origin, want := range map[string]int{"": 200, w.net: 403, "https://elsewhere.example": 403, "wails://wails": 403, "null": 403} {
		if req.Header.Del("Origin"); origin != "" {
			req.Header.Set("Origin", origin)
		}
		resp, err := w.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _ = resp.Body.Close(); resp.StatusCode != want {
			t.Errorf("a page of %q: %s", origin, resp.Status)
		}
	}
	nonce := strings.Repeat("0", 64)
	if status, said := w.ask("GET", w.net+"/health?nonce="+nonce, "", ""); status != 200 || strings.Contains(said, "proof") {
		t.Errorf("%d %s", status, said)
	}
	if status, said := w.ask("POST", w.net+"/internal/signup", "", "{}"); status != 400 || errorCode(t, said) != "NoAccountsHere" {
		t.Errorf("%d %s", status, said)
	}
	for _, path := range []string{"/", "/api/machines", "/api/status", "/mcp", "/open", "/drop/x", "/index.html"} {
		if status, said := w.ask("GET", w.net+path, w.annas, ""); status != 404 || strings.Contains(said, "{") {
			t.Errorf("%s: %d %s", path, status, said)
		}
	}
	if status, said := w.ask("GET", w.net+"/v1/nothing", w.annas, ""); status != 404 || errorCode(t, said) != "NotFound" {
		t.Errorf("%d %s", status, said)
	}
	if _, err := w.server.machinesOf(httptest.NewRequest("GET", "/", nil)).Find(t.Context(), "annas"); !errors.Is(err, machine.ErrNotFound) {
		t.Errorf("a request without a caller finds Anna's machine: %v", err)
	}
}
