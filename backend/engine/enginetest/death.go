package enginetest

import (
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// step is a moment in a machine's life at which a process may die.
type step struct {
	name string
	// prepare brings the machine there; what it starts goes on while the process dies.
	prepare func(m *session) (cleanup func())
}

var steps = []step{
	{"Idle", func(*session) func() { return func() {} }},
	{"Running", func(m *session) func() {
		seq := m.execute("print('on', flush=True)\nwhile True: pass")
		m.awaitOutput(seq, "on")
		return func() {}
	}},
	{"Saving", func(m *session) func() {
		m.value("ballast = __import__('os').urandom(150 << 20)")
		done := make(chan struct{})
		go func() { defer close(done); _, _ = m.box.Checkpoint(m.ctx(), nil) }()
		time.Sleep(60 * time.Millisecond) // somewhere within it; where exactly is left to chance
		return func() { <-done }
	}},
	{"Stopping", func(m *session) func() {
		m.value("ballast = __import__('os').urandom(150 << 20)")
		done := make(chan struct{})
		go func() { defer close(done); _, _ = m.box.Stop(m.ctx()) }()
		time.Sleep(120 * time.Millisecond)
		return func() { <-done }
	}},
}

// deathTests kill each process of a machine at each step. The end is told, nothing is left, and the
// machine wakes from a whole checkpoint: the one from before, or the one under way if that was just
// in time.
var deathTests = func() []test {
	var tests []test
	for _, step := range steps {
		for _, part := range []string{"supervisor", "inner", "sandbox", "gofer"} {
			tests = append(tests, test{step.name + "_" + part, func(t *testing.T, s Subject) { die(t, s, step, part) }})
		}
	}
	return append(tests,
		test{"WithoutGofer", livesWithoutGofer},
		test{"WhileStarting", dieStarting},
		test{"DaemonWhileSaving", daemonDiesSaving},
		test{"DaemonAndSupervisor", daemonAndSupervisorDie},
	)
}()

func die(t *testing.T, s Subject, step step, part string) {
	m := s.fresh(t)
	m.value("x = 'saved'; open('/root/f', 'w').write('saved')")
	before := m.checkpoint()
	m.value("x = 'newer'; open('/root/f', 'w').write('newer')")
	pid, ok := s.Processes(t, m.id)[part]
	if !ok {
		t.Fatalf("the machine has no %s: %v", part, s.Processes(t, m.id))
	}
	cleanup := step.prepare(m)
	kill(t, pid)
	cleanup()
	checkpoint := before.ID
	switch part {
	case "gofer":
		m.end() // it lives on; see livesWithoutGofer
	default:
		cause := m.awaitEnd()
		if cause.Kind != machine.EndedBroken && (step.name != "Stopping" || cause.Kind != machine.EndedStopped) || cause.Detail == "" {
			t.Errorf("the cause is %+v", cause)
		}
	}
	info, err := s.Engine.Reclaim(m.ctx(), m.id, m.life, []string{before.ID})
	if err != nil {
		t.Fatal(err)
	}
	want := "('saved', 'saved')"
	if info != nil {
		checkpoint, want = info.ID, "('newer', 'newer')"
	}
	back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: checkpoint, Acked: m.acks()})
	back.expect("x, open('/root/f').read()", want)
	back.stop()
}

// livesWithoutGofer kills the gofer, which serves nothing but the reserved folders: the machine
// works on, is saved whole, and has all when it wakes.
func livesWithoutGofer(t *testing.T, s Subject) {
	m := s.fresh(t)
	m.value("import os, subprocess; x = 'kept'")
	kill(t, s.Processes(t, m.id)["gofer"])
	use := "open('/root/f', 'w').write(x); import sympy; subprocess.check_output(['cat', '/root/f']).decode()"
	m.expect(use, "'kept'")
	m.checkpoint()
	m.expect(use, "'kept'")
	info := m.stop()
	back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
	back.expect("x, open('/root/f').read(), os.listdir('/mnt/inbox')", "('kept', 'kept', [])")
	back.stop()
}

func dieStarting(t *testing.T, s Subject) {
	m := s.fresh(t)
	m.value("x = 1")
	info := m.stop()
	for delay := 5 * time.Millisecond; delay < 160*time.Millisecond; delay += 25 * time.Millisecond {
		stop := make(chan struct{})
		killed := make(chan bool)
		go func() {
			deadline := time.After(delay)
			for {
				pids := s.Processes(t, m.id)
				if pid := pids["supervisor"]; pid > 0 {
					<-deadline
					kill(t, pid)
					killed <- true
					return
				}
				select {
				case <-stop:
					killed <- false
					return
				case <-time.After(time.Millisecond):
				}
			}
		}()
		started, err := s.tryStart(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		close(stop)
		if !<-killed && err != nil {
			t.Fatalf("nobody was killed, and yet: %v", err)
		}
		if err == nil {
			started.end()
		} else if strings.TrimSpace(err.Error()) == "" {
			t.Error("it failed without a word")
		}
	}
	back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
	back.expect("x", "1")
}

// daemonDiesSaving lets the daemon die in the middle of a checkpoint that it asked for.
func daemonDiesSaving(t *testing.T, s Subject) {
	m := s.fresh(t)
	m.value("x = 'kept'; ballast = __import__('os').urandom(150 << 20)")
	done := make(chan struct{})
	go func() { defer close(done); _, _ = m.box.Checkpoint(m.ctx(), nil) }()
	time.Sleep(50 * time.Millisecond)
	s.Disconnect(m.box)
	<-done
	info, err := s.Engine.Reclaim(m.ctx(), m.id, m.life, nil)
	if err != nil || info == nil {
		t.Fatalf("reclaimed %+v, %v", info, err)
	}
	m.awaitEnd()
	back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
	back.expect("x", "'kept'")
}

// daemonAndSupervisorDie kills the supervisor while it saves because the daemon died.
func daemonAndSupervisorDie(t *testing.T, s Subject) {
	m := s.fresh(t)
	m.value("x = 'kept'")
	known := m.checkpoint()
	m.value("ballast = __import__('os').urandom(150 << 20)")
	pid := s.Processes(t, m.id)["supervisor"]
	s.Disconnect(m.box)
	time.Sleep(70 * time.Millisecond)
	kill(t, pid)
	m.awaitEnd()
	info, err := s.Engine.Reclaim(m.ctx(), m.id, m.life, []string{known.ID})
	if err != nil {
		t.Fatal(err)
	}
	if info != nil {
		known = *info
	}
	back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: known.ID, Acked: m.acks()})
	back.expect("x", "'kept'")
}
