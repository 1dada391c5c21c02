package hosted

import (
	"context"
	"errors"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

// A machine that was found before somebody signed out sends nothing afterwards: the token is theirs
// no longer.
func TestNothingIsSentAfterSigningOut(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	r := newRemote(&session{ctx: ended}, machine.MachineRecord{}) // without a client: to send would panic
	if _, _, err := r.Execute(t.Context(), machine.ExecuteOptions{Code: "1"}); !errors.Is(err, machine.ErrUnavailable) {
		t.Errorf("executing: %v", err)
	}
	if err := r.adopt(t.Context(), 0); !errors.Is(err, machine.ErrUnavailable) {
		t.Errorf("adopting: %v", err)
	}
}
