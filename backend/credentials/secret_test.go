package credentials

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

const token = "c0ffee00.The-Secret-Part-Of-A-Token-9xYz"

// However a secret is printed, and whatever holds it, what comes out is its mask.
func TestASecretIsNotPrinted(t *testing.T) {
	secret, err := Parse(" " + token + "\n")
	if err != nil {
		t.Fatal(err)
	}
	if secret.Reveal() != token || secret.Mask() != "fvm_…9xYz" {
		t.Fatalf("it holds %q, masked %q", secret.Reveal(), secret.Mask())
	}
	type holder struct {
		Secret Secret
		hidden Secret
		inside map[string]Secret
		behind *Secret
	}
	held := holder{secret, secret, map[string]Secret{"k": secret}, &secret}
	var out bytes.Buffer
	for _, value := range []any{secret, &secret, held, &held, []Secret{secret}, []any{secret}, fmt.Errorf("about %v", secret), errors.Join(fmt.Errorf("%s %q", secret, secret))} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%p", "%t", "%10.3s", "%w"} {
			fmt.Fprintf(&out, verb+"\n", value)
		}
		fmt.Fprintln(&out, value)
		encoded, err := json.Marshal(value)
		fmt.Fprintf(&out, "%s %v\n", encoded, err)
		fmt.Fprintln(&out, gob.NewEncoder(&out).Encode(value))
		slog.New(slog.NewJSONHandler(&out, nil)).Info("signed in", "secret", value)
		slog.New(slog.NewTextHandler(&out, nil)).Info("signed in", "secret", value)
	}
	for _, part := range []string{token, token[:8], "Secret-Part", fmt.Sprintf("%x", token[:8]), fmt.Sprintf("%X", token[:8])} {
		if strings.Contains(out.String(), part) {
			t.Errorf("%q came out", part)
		}
	}
	if !strings.Contains(out.String(), "fvm_…9xYz") {
		t.Error("not even the mask came out")
	}
	if short, err := Parse("a.b"); err != nil || short.Mask() != "fvm_…" {
		t.Errorf("a short one is shown as %q, %v", short.Mask(), err)
	}
}

func TestParse(t *testing.T) {
	for _, text := range []string{"", "  ", "nodot", ".x", "x.", "a b.c", "a.b\x00", "ä.b", strings.Repeat("x", 3000) + ".y"} {
		if secret, err := Parse(text); err == nil || !secret.Empty() || text != "" && len(strings.TrimSpace(text)) > 3 && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestServer(t *testing.T) {
	for address, want := range map[string]string{
		"": DefaultServer, "https://API.forevervm.com/": DefaultServer, "http://127.0.0.1:8080/": "http://127.0.0.1:8080",
		"http://localhost:1": "http://localhost:1", "https://x/y/": "https://x/y", "http://[::1]:8": "http://[::1]:8",
		"http://example.com": "", "ftp://x": "", "x": "", "https://": "", "https://u:p@x": "", "https://x?y": "", "https://x#y": "", "https://x\ny": "",
		"file:///etc/passwd": "", "gopher://x": "", "http://169.254.169.254/": "", "http://127.0.0.1@example.com": "", "http://localhost.example.com": "",
		"http://localhost@example.com/": "", "http://0.0.0.0": "", "https://u@x": "", "//x": "", "javascript:1": "", "http://example.com#@localhost": "",
	} {
		if got, err := Server(address); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", address, got, err)
		}
	}
}

func TestCheckSignup(t *testing.T) {
	for _, right := range [][2]string{{"ada@example.com", "ada"}, {"a.b+c%d_e-f@x-y.example.org", "A_b-c1234567890x"}} {
		if err := CheckSignup(right[0], right[1]); err != nil {
			t.Errorf("%q: %v", right, err)
		}
	}
	for _, wrong := range [][2]string{{"ada", "ada"}, {"ada@example", "ada"}, {"ada@example.c", "ada"}, {"a b@example.com", "ada"}, {"ada@example.com", "ab"}, {"ada@example.com", "a2345678901234567"}, {"ada@example.com", "a b c"}} {
		if CheckSignup(wrong[0], wrong[1]) == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}
