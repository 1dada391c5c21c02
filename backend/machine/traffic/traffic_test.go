package traffic

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

func TestAPersonIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var traffic Traffic
		id := int64(0)
		ask := func(host string, seq int) (machine.Connection, chan string) {
			id++
			c := machine.Connection{ID: id, Host: host, Seq: &seq}
			traffic.Note(c)
			refusal := make(chan string, 1)
			go func() { refusal <- traffic.Ask(t.Context(), c, time.Minute) }()
			synctest.Wait()
			return c, refusal
		}
		c, one := ask("a.example", 1)
		_, other := ask("a.example", 1)
		if _, asking := traffic.Asking(c.ID); !asking {
			t.Error("it does not wait")
		}
		traffic.Answer(c, machine.AllowOnce)
		if a, b := <-one, <-other; a != "" || b != "" {
			t.Errorf("allowed: %q, %q", a, b)
		}
		if _, again := ask("a.example", 1); <-again != "" {
			t.Error("it is asked again within the instruction")
		}
		c, next := ask("a.example", 2)
		traffic.Answer(c, machine.Deny)
		if refusal := <-next; !strings.Contains(refusal, "denied") {
			t.Errorf("denied: %q", refusal)
		}
		if _, again := ask("a.example", 3); !strings.Contains(<-again, "denied") {
			t.Error("it is asked again after a no")
		}
		traffic.Forget()
		_, late := ask("a.example", 3)
		for i := range maxAsks - 1 {
			ask(fmt.Sprint(i, ".example"), 3)
		}
		if _, more := ask("more.example", 3); !strings.Contains(<-more, "waits for answers") {
			t.Error("a person is asked too much at once")
		}
		time.Sleep(2 * time.Minute)
		if refusal := <-late; !strings.Contains(refusal, "nobody answered") {
			t.Errorf("nobody: %q", refusal)
		}
		synctest.Wait()
	})
}

// Code that gives up before somebody answers learns only that it took too long.
func TestWhyAnInstructionDidNotGetToAHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var traffic Traffic
		connection := func(id int64, host string, seq int) machine.Connection {
			c := machine.Connection{ID: id, Host: host, Seq: &seq, State: machine.ConnectionAsking}
			traffic.Note(c)
			return c
		}
		c := connection(1, "b.example", 4)
		ctx, leave := context.WithCancel(t.Context())
		go traffic.Ask(ctx, c, time.Minute)
		synctest.Wait()
		c = connection(2, "a.example", 4)
		c.State, c.Reason = machine.ConnectionDenied, "It is not on the list."
		traffic.Note(c)
		want := []string{"It is not on the list.", "Nobody answered about b.example."}
		if got := traffic.Refused(4); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		if got := traffic.Refused(5); len(got) > 0 {
			t.Errorf("of another instruction: %q", got)
		}
		leave()
		synctest.Wait()
	})
}
