//go:build linux && real

package service_test

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
)

// Instructions that follow each other without a pause are saved in between: code that ends its own
// Python costs the last seconds.
func TestRealBurstIsSavedWhileItGoesOn(t *testing.T) {
	r := openReal(t, service.Settings{})
	r.create("m")
	r.run("m", "done = []")
	r.until("its first checkpoint, which keeps the template, too", func() bool {
		all, err := r.at("m").Checkpoints(r.ctx)
		r.ok(err)
		return len(all) > 0
	})
	// How soon they come is tested with a clock of its own: see TestABurstIsSavedInBetween.
	last, saved := 0, 0
	for deadline := time.Now().Add(5 * time.Minute); saved < 20; {
		last = r.run("m", "done.append(len(done) + 1)").Seq
		all, err := r.at("m").Checkpoints(r.ctx)
		r.ok(err)
		for _, c := range slices.Backward(all) {
			if c.RunningSeq == nil { // code that ends its own Python returns to no other
				saved = c.LastSeq
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("of %d instructions in a row %d are saved", last, saved)
		}
	}
	if in := r.run("m", "import os\nos._exit(1)"); in.Status != machine.StatusError {
		t.Fatalf("it did not end: %+v", in)
	}
	next := r.run("m", "len(done), done == list(range(1, len(done) + 1))")
	kept, whole, _ := strings.Cut(strings.Trim(value(next), "()"), ", ")
	n, err := strconv.Atoi(kept)
	if err != nil || whole != "True" {
		t.Fatalf("it holds %q", value(next))
	}
	if n < saved {
		t.Errorf("%d of %d instructions are left, %d were saved", n, last, saved)
	}
	for seq := range last + 1 {
		if in, err := r.at("m").Instruction(r.ctx, seq); err != nil || in.RolledBack != (seq > n) {
			t.Fatalf("%d of %d are left: %+v, %v", n, last, in, err)
		}
	}
	told := "what steps " + strconv.Itoa(n+2) + "-" + strconv.Itoa(last+2) + " changed is gone"
	if n == last {
		told = "what step " + strconv.Itoa(last+2) + " changed is gone"
	}
	if !strings.Contains(next.Notice, told) {
		t.Errorf("the next result says %q, not %q", next.Notice, told)
	}
}

// A long instruction whose supervisor is killed goes on from its middle, and its output is on
// record once.
func TestRealLongInstructionGoesOnFromItsMiddle(t *testing.T) {
	r := openReal(t, service.Settings{MostUnsavedWithin: 2 * time.Second})
	m := r.create("m")
	r.run("m", "x = 0")
	in := r.exec("m", "import os, time\nwhile not os.path.exists('enough'):\n    print(x)\n    x += 1\n    time.sleep(0.05)\nx")
	r.until("a checkpoint in its middle", func() bool {
		all, err := r.at("m").Checkpoints(r.ctx)
		r.ok(err)
		return len(all) > 0 && all[0].RunningSeq != nil && *all[0].RunningSeq == in.Seq
	})
	before, err := r.at("m").Instruction(r.ctx, in.Seq)
	r.ok(err)
	r.until("more output", func() bool {
		now, err := r.at("m").Instruction(r.ctx, in.Seq)
		r.ok(err)
		return now.OutputBytes > before.OutputBytes
	})
	r.ok(syscall.Kill(r.supervisor(m.ID), syscall.SIGKILL))
	r.until("it to go on", func() bool {
		m := r.at("m").Machine()
		return m.State == machine.Running && m.Notice != ""
	})
	_, err = r.at("m").PutFile(r.ctx, "enough", strings.NewReader(""))
	r.ok(err)
	done, err := r.at("m").Wait(r.ctx, in.Seq)
	r.ok(err)
	x, err := strconv.Atoi(value(done))
	if err != nil || done.RolledBack || !strings.Contains(done.Notice, "returned to the middle of step 2") {
		t.Fatalf("%q, notice %q", value(done), done.Notice)
	}
	var text, want strings.Builder
	_, err = r.at("m").Follow(r.ctx, in.Seq, 0, func(it machine.Item) error { text.Write(it.Text); return nil })
	r.ok(err)
	for i := range x {
		want.WriteString(strconv.Itoa(i) + "\n")
	}
	if text.String() != want.String() {
		t.Errorf("counted to %d, the output is %q", x, text.String())
	}
	r.value("m", "x", strconv.Itoa(x))
}
