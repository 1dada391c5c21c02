package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

// failing is a domain whose machines fail in the way that they are named.
type failing struct {
	closed
	errs map[string]error
}

func (f failing) Find(_ context.Context, name string) (machine.Handle, error) {
	if name == "panic" {
		panic("at the disco")
	}
	return nil, f.errs[name]
}

func TestErrorsBecomeAnswers(t *testing.T) {
	said := func(kind error) error {
		return &machine.Error{Kind: kind, Message: "A sentence for the person to read.", Cause: errors.New("secret cause")}
	}
	var log bytes.Buffer
	base := start(t, Config{
		Token: testToken, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Machines: failing{errs: map[string]error{
			"missing": said(machine.ErrNotFound), "taken": said(machine.ErrNameTaken), "invalid": said(machine.ErrInvalid),
			"conflict": said(machine.ErrConflict), "unavailable": said(machine.ErrUnavailable), "unusable": said(machine.ErrCheckpointUnusable),
			"full": said(machine.ErrDiskFull), "undecided": said(machine.ErrInstructionUndecided),
			"wrapped": fmt.Errorf("while waking: %w", said(machine.ErrConflict)), "other": errors.New("secret internals"),
		}},
	})
	for name, want := range map[string]struct {
		status int
		code   string
	}{
		"missing": {404, "MachineNotFound"}, "taken": {409, "NameTaken"}, "invalid": {400, "Invalid"}, "conflict": {409, "Conflict"},
		"unavailable": {503, "EngineUnavailable"}, "unusable": {409, "CheckpointUnusable"}, "full": {507, "DiskFull"},
		"undecided": {409, "InstructionNotDone"}, "wrapped": {409, "Conflict"}, "other": {500, "Internal"}, "panic": {500, "Internal"},
	} {
		resp, body := request(t, base, "GET", "/api/machines/"+name, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+testToken) })
		if resp.StatusCode != want.status || errorCode(t, body) != want.code {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
		if strings.Contains(body, "secret") || strings.Contains(body, "disco") || strings.Contains(body, "while waking") {
			t.Errorf("%s tells what is only for the log: %s", name, body)
		}
		if internal := want.status == 500; internal == strings.Contains(body, `"id":null`) {
			t.Errorf("%s: an answer has a name in the log exactly when it stands there: %s", name, body)
		}
	}
	for _, logged := range []string{"secret internals", "at the disco"} {
		if !strings.Contains(log.String(), logged) {
			t.Errorf("%q is not in the log", logged)
		}
	}
}
