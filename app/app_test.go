package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/client"
)

func TestSentence(t *testing.T) {
	for given, want := range map[string]string{
		"the daemon is gone":            "The daemon is gone.",
		"The daemon is gone.":           "The daemon is gone.",
		"nothing runs (see the log)":    "Nothing runs (see the log).",
		"öffnen ging nicht; try again!": "Öffnen ging nicht; try again!",
	} {
		if got := sentence(errors.New(given)); got != want {
			t.Errorf("sentence(%q) = %q, want %q", given, got, want)
		}
	}
}

// Without a display the person gets a sentence and an address that holds a code, never the token.
func TestInBrowserPrintsAnAddressWithoutTheToken(t *testing.T) {
	const token = "id.secret"
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/health":
			_ = json.NewEncoder(w).Encode(map[string]string{"status": "ok", "version": "dev"})
		case r.URL.Path == "/api/open" && r.Header.Get("Authorization") == "Bearer "+token:
			_ = json.NewEncoder(w).Encode(map[string]string{"code": "once"})
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer daemon.Close()
	var out bytes.Buffer
	status := inBrowser(client.New(daemon.URL, token, client.Options{}), &out, errors.New("there is no display to show a window on"))
	if status != 0 || !strings.Contains(out.String(), daemon.URL+"/#open=once") || !strings.Contains(out.String(), "There is no display") {
		t.Errorf("status %d, output %q", status, out.String())
	}
	if strings.Contains(out.String(), token) {
		t.Error("the token is in the output")
	}
}
