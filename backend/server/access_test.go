package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/access"
	"github.com/forevervm/desktop/backend/audit"
)

const programsToken = "local-2.fedcba9876543210fedcba9876543210"

func withKeys(t *testing.T) (*access.Keys, *Server) {
	t.Helper()
	keys, err := access.Open(filepath.Join(t.TempDir(), "tokens.json"), testToken, programsToken, func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	record, err := audit.Open(filepath.Join(t.TempDir(), "record.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return keys, New(Config{Machines: closed{}, Token: testToken, Keys: keys, Record: record})
}

func (s *Server) asked(method, path, token, body string) (status int, answer string) {
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, r)
	said, _ := io.ReadAll(w.Body)
	return w.Code, string(said)
}

// The tokens of AI apps and programs open what the tools do. A call that is new is the owner's
// until somebody says otherwise, here as well.
func TestWhatTheTokensOfProgramsOpen(t *testing.T) {
	keys, s := withKeys(t)
	_, made, err := keys.New("script")
	if err != nil {
		t.Fatal(err)
	}
	opens := map[string]bool{}
	for _, pattern := range strings.Fields(`
		GET/v1/whoami POST/v1/machine/new POST/v1/machine/list GET/v1/machine/list POST/v1/machine/{name}/exec
		GET/v1/machine/{name}/exec/{seq}/result GET/v1/machine/{name}/exec/{seq}/stream-result GET/v1/machine/{name}/repl
		GET/api/status POST/api/clients POST/api/permissions GET/api/machines POST/api/machines GET/api/machines/{name}
		DELETE/api/machines/{name} POST/api/machines/{name}/interrupt
		GET/api/machines/{name}/instructions POST/api/machines/{name}/instructions POST/api/machines/{name}/run
		GET/api/machines/{name}/instructions/{seq} DELETE/api/machines/{name}/instructions/{seq}
		GET/api/machines/{name}/instructions/{seq}/items GET/api/machines/{name}/instructions/{seq}/stream
		GET/api/machines/{name}/instructions/{seq}/data/{place}/{n}
		GET/api/machines/{name}/checkpoints POST/api/machines/{name}/checkpoints POST/api/machines/{name}/rewind
		POST/api/machines/{name}/fork GET/api/machines/{name}/compare
		GET/api/machines/{name}/network GET/api/machines/{name}/connections POST/api/machines/{name}/connections/{id}/answer
		POST/api/machines/{name}/drops POST/api/drops/{code}/pieces GET/api/machines/{name}/variables
		POST/api/machines/{name}/table POST/api/machines/{name}/table/save
		GET/api/machines/{name}/files DELETE/api/machines/{name}/files POST/api/machines/{name}/files/folder
		GET/api/machines/{name}/files/content PUT/api/machines/{name}/files/content /api/ /v1/`) {
		opens[strings.Replace(pattern, "/", " /", 1)] = true
	}
	for _, route := range s.routes() {
		method, path, ok := strings.Cut(strings.TrimSpace(route.pattern), " ")
		if !ok {
			method, path = http.MethodGet, method
		}
		if route.open {
			continue
		}
		if want := opens[method+" "+path] || opens[" "+path] && !ok; want != route.tools {
			t.Errorf("%s is open to programs: %v", route.pattern, route.tools)
		}
		if route.tools {
			continue
		}
		for _, token := range []string{programsToken, access.ForApp(testToken, "Cursor"), made} {
			if status, said := s.asked(method, strings.NewReplacer("{", "", "}", "").Replace(path), token, ""); status != http.StatusForbidden || !strings.Contains(said, "OwnerOnly") {
				t.Errorf("%s: %d %s", route.pattern, status, said)
			}
		}
	}
}

func TestARevokedAppIsToldSo(t *testing.T) {
	keys, s := withKeys(t)
	token := access.ForApp(testToken, "Cursor")
	if status, said := s.asked("GET", "/api/nothing", token, ""); status != http.StatusNotFound {
		t.Fatalf("%d %s", status, said)
	}
	id := keys.List()[0].ID
	if status, said := s.asked("PATCH", "/api/tokens/"+id, token, `{"allowed": true}`); status != http.StatusForbidden {
		t.Errorf("an app allows itself: %d %s", status, said)
	}
	if status, said := s.asked("PATCH", "/api/tokens/"+id, testToken, `{"allowed": false}`); status != http.StatusOK || !strings.Contains(said, `"revoked":true`) {
		t.Fatalf("%d %s", status, said)
	}
	if status, said := s.asked("GET", "/api/nothing", token, ""); status != http.StatusUnauthorized || !strings.Contains(said, "has locked Cursor out") {
		t.Errorf("%d %s", status, said)
	}
	if status, said := s.asked("PATCH", "/api/tokens/none", testToken, `{"allowed": false}`); status != http.StatusNotFound {
		t.Errorf("%d %s", status, said)
	}
	if status, said := s.asked("POST", "/api/tokens", testToken, `{"name": " "}`); status != http.StatusBadRequest {
		t.Errorf("%d %s", status, said)
	}
	if status, said := s.asked("GET", "/api/record", testToken, ""); status != http.StatusOK || !strings.Contains(said, `"about":"revoked: Cursor"`) || !strings.Contains(said, `"head":"`) {
		t.Errorf("%d %s", status, said)
	}
}
