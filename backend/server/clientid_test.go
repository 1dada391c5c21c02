package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

func TestClientOf(t *testing.T) {
	long := strings.Repeat("é", 500)
	for _, test := range []struct {
		headers map[string]string
		want    machine.Client
	}{
		{map[string]string{"X-Forevervm-Client": "Claude Desktop/1.2"}, machine.Client{Name: "Claude Desktop", Version: "1.2"}},
		{map[string]string{"X-Forevervm-Client": "a/b/1.2"}, machine.Client{Name: "a/b", Version: "1.2"}},
		{map[string]string{"X-Forevervm-Client": "window"}, machine.Client{Name: "window"}},
		{map[string]string{"X-Forevervm-Client": "a\x1b[31m\u202e/1\t"}, machine.Client{Name: "a[31m", Version: "1"}},
		{map[string]string{"X-Forevervm-Client": long}, machine.Client{Name: strings.Repeat("é", 100)}},
		{map[string]string{"X-Forevervm-Sdk": "python", "User-Agent": "python-httpx/0.28"}, machine.Client{Name: "forevervm-sdk python"}},
		{map[string]string{"X-Forevervm-Sdk": "rust", "X-Forevervm-Runner": "cargo"}, machine.Client{Name: "forevervm-sdk rust (cargo)"}},
		{map[string]string{"User-Agent": "curl/8.1.0"}, machine.Client{Name: "curl", Version: "8.1.0"}},
		{map[string]string{"User-Agent": "Mozilla/5.0 (X11) Gecko"}, machine.Client{Name: "browser"}},
		{nil, machine.Client{Name: "unknown"}},
	} {
		r := &http.Request{Header: http.Header{}}
		for key, value := range test.headers {
			r.Header.Set(key, value)
		}
		if got := clientOf(r); got != test.want {
			t.Errorf("%v: %+v, want %+v", test.headers, got, test.want)
		}
	}
}
