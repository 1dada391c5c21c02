package server

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/api"
)

func post(t *testing.T, url, token string, body any) (int, []byte) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}

func TestOpeningThePage(t *testing.T) {
	base := start(t, Config{Machines: closed{}, Token: testToken})
	if status, _ := post(t, base+"/api/open", "", nil); status != 401 {
		t.Errorf("a code without the token: %d", status)
	}
	status, body := post(t, base+"/api/open", testToken, nil)
	var code api.OpenCode
	if err := json.Unmarshal(body, &code); status != 200 || err != nil || len(code.Code) < 22 {
		t.Fatalf("%d %s", status, body)
	}
	if status, body := post(t, base+"/open", "", api.OpenCode{Code: code.Code + "x"}); status != 403 {
		t.Errorf("a wrong code: %d %s", status, body)
	}
	status, body = post(t, base+"/open", "", code)
	var token api.OpenToken
	if err := json.Unmarshal(body, &token); status != 200 || err != nil || token.Token != testToken {
		t.Errorf("%d %s", status, body)
	}
	if status, body := post(t, base+"/open", "", code); status != 403 {
		t.Errorf("a code worked twice: %d %s", status, body)
	}
	if status, _ := post(t, base+"/open", "", nil); status != 400 {
		t.Errorf("an empty body: %d", status)
	}
}

// Anyone who tries wrong codes, as any user of the computer can, keeps nobody out.
func TestWrongCodesLockNobodyOut(t *testing.T) {
	base := start(t, Config{Machines: closed{}, Token: testToken})
	_, body := post(t, base+"/api/open", testToken, nil)
	var code api.OpenCode
	if err := json.Unmarshal(body, &code); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if status, body := post(t, base+"/open", "", api.OpenCode{Code: "guess"}); status != 403 {
			t.Fatalf("a guess: %d %s", status, body)
		}
	}
	if status, body := post(t, base+"/open", "", code); status != 200 {
		t.Errorf("the right code after them: %d %s", status, body)
	}
}

func TestCodesDie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var codes openCodes
		old := codes.issue()
		time.Sleep(codeLife)
		if codes.redeem(old) {
			t.Error("a code outlived its minute")
		}
		if !codes.redeem(codes.issue()) {
			t.Error("after a minute a right code must work again")
		}
		first := codes.issue()
		for range maxCodes {
			codes.issue()
		}
		if codes.redeem(first) {
			t.Error("more codes wait than may")
		}
	})
}
