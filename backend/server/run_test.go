package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

// printing is a domain with one machine, in which an instruction prints a line. It counts how often
// the machine is looked for.
type printing struct {
	closed
	machine.Handle
	found int
}

func (p *printing) Find(context.Context, string) (machine.Handle, error) {
	p.found++
	return p, nil
}

func (p *printing) Name() string { return "m" }

func (p *printing) Execute(_ context.Context, opts machine.ExecuteOptions) (machine.Instruction, bool, error) {
	return machine.Instruction{Seq: 3, Code: opts.Code, Status: machine.StatusQueued}, false, nil
}

func (p *printing) Follow(_ context.Context, seq, from int, yield func(machine.Item) error) (machine.Instruction, error) {
	err := yield(machine.Item{Index: from, Kind: machine.ItemOutput, Stream: "stdout", Text: []byte("hello\n")})
	return machine.Instruction{Seq: seq, Status: machine.StatusOK, Items: 1}, err
}

// One request queues code and brings all that comes of it; its machine is looked for once.
func TestOneRequestRunsCode(t *testing.T) {
	domain := &printing{}
	base := start(t, Config{Machines: domain, Token: testToken})
	resp, body := request(t, base, "POST", "/api/machines/m/run", func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+testToken)
		r.Body = io.NopCloser(strings.NewReader(`{"code":"print('hello')"}`))
	})
	lines := strings.Split(strings.TrimSpace(body), "\n")
	if resp.StatusCode != http.StatusOK || len(lines) != 3 {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	for i, want := range []string{`"status":"queued"`, `"text":"hello\n"`, `"status":"ok"`} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %s, and lacks %s", i, lines[i], want)
		}
	}
	if domain.found != 1 {
		t.Errorf("the machine was looked for %d times", domain.found)
	}
}
