package permission

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

func memory(mb int) machine.Permission {
	return machine.Permission{Kind: machine.PermissionMemory, App: "Claude", MemoryMB: mb}
}

func TestAPersonAnswers(t *testing.T) {
	for allow, want := range map[bool]machine.PermissionState{true: machine.PermissionAllowed, false: machine.PermissionDenied} {
		synctest.Test(t, func(t *testing.T) {
			told := []machine.Permission{}
			r := New(func(p machine.Permission) { told = append(told, p) })
			go func() {
				synctest.Wait()
				if err := r.Answer(r.Waiting()[0].ID, allow); err != nil {
					t.Error(err)
				}
			}()
			got, err := r.Ask(t.Context(), memory(4096))
			if err != nil || got.State != want || len(r.Waiting()) != 0 {
				t.Errorf("got %v, %v; %v wait", got, err, r.Waiting())
			}
			if len(told) != 2 || told[0].State != machine.PermissionWaiting || told[1].State != want {
				t.Errorf("told %v", told)
			}
			if err := r.Answer(got.ID, true); !errors.Is(err, machine.ErrConflict) {
				t.Errorf("an answer too many: %v", err)
			}
		})
	}
}

// The person may answer while no call waits. The next call gets the answer, and the one after that
// asks again.
func TestAnAnswerWaitsForItsAppOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(func(machine.Permission) {})
		ask := func(p machine.Permission) machine.Permission {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			got, err := r.Ask(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		first := ask(memory(4096))
		if again := ask(memory(4096)); again.ID != first.ID || again.State != machine.PermissionWaiting {
			t.Errorf("asked twice: %v and %v", first, again)
		}
		if err := r.Answer(first.ID, true); err != nil {
			t.Fatal(err)
		}
		if other := ask(memory(8192)); other.State != machine.PermissionWaiting {
			t.Errorf("one answer allowed something else: %v", other)
		}
		if got := ask(memory(4096)); got.State != machine.PermissionAllowed {
			t.Errorf("the answer is lost: %v", got)
		}
		if got := ask(memory(4096)); got.State != machine.PermissionWaiting {
			t.Errorf("an answer counted twice: %v", got)
		}
		time.Sleep(2 * holds)
		if waiting := r.Waiting(); len(waiting) != 0 {
			t.Errorf("these wait for nobody: %v", waiting)
		}
	})
}

func TestAPersonIsNotAskedTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(func(machine.Permission) {})
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for i := range mostWaiting {
			if _, err := r.Ask(ended, memory(3000+i)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Ask(ended, memory(9000)); !errors.Is(err, machine.ErrConflict) {
			t.Errorf("one more: %v", err)
		}
		for _, wrong := range []machine.Permission{{}, memory(0), {Kind: machine.PermissionRewind}} {
			if _, err := r.Ask(ended, wrong); !errors.Is(err, machine.ErrInvalid) {
				t.Errorf("%v: %v", wrong, err)
			}
		}
		for i := range mostNew - mostWaiting {
			if err := r.Answer(r.Waiting()[0].ID, false); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Ask(ended, memory(5000+i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Answer(r.Waiting()[0].ID, false); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Ask(ended, memory(9000)); !errors.Is(err, machine.ErrConflict) {
			t.Errorf("after every no one more: %v", err)
		}
		time.Sleep(time.Minute)
		if _, err := r.Ask(ended, memory(9000)); err != nil {
			t.Errorf("a minute later: %v", err)
		}
		time.Sleep(2 * holds)
	})
}
