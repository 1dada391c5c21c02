// Package enginetest is the one conformance suite that every engine passes, run against the real
// sandbox.
//
// An engine's own test calls Run with a Subject; what only some engines can do (being hurt from
// outside) is optional there, and a test that needs it fails where an engine of this computer
// should have it but does not.
package enginetest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// patience bounds everything that should be quick, on a computer that is busy.
const patience = 5 * time.Minute

// Subject is an engine under test, and ways to hurt it.
type Subject struct {
	Engine machine.Engine
	// Checkpoints keeps what the engine saves.
	Checkpoints machine.Checkpoints
	// Disconnect does to a sandbox what the daemon's death does.
	Disconnect func(machine.Sandbox)
	// Processes tells the process ids of a machine in memory by their part, such as "supervisor" or
	// "sandbox"; nil for engines whose processes are not ours.
	Processes func(t testing.TB, id machine.ID) map[string]int
	// Undialled makes what answers a machine's connections as the product does, and fails the test
	// when it dials.
	Undialled func(t *testing.T) Outside
	// Internet makes the same that reaches the real internet and, as server.example, a server of
	// the test's own, whose authority the machine is told of: HTTPS at port 443 and PostgreSQL at
	// 5432.
	Internet func(t *testing.T) Outside
	// Apart says that the machines are elsewhere, where no folder of this computer can be seen.
	Apart bool
	// NoTemplates says that each machine boots: it shares nothing of its memory with others.
	NoTemplates bool
	// Neighbour listens at a private address in another network, one that this computer reaches;
	// nil where the test cannot have one.
	Neighbour func(t *testing.T) net.Listener
	// Folder is where a machine's checkpoints lie.
	Folder func(id machine.ID) string
	// Leftovers tells what is left of machines that are not in memory, one line each: processes,
	// mounts, folders, control groups. It waits a moment for what is just vanishing.
	Leftovers func(t testing.TB) []string
}

// Outside answers the connections of machines, under the default policy until another is set.
type Outside interface {
	Connect(net.Conn)
	Belongings(id machine.ID) (env map[string]string, authorities []byte)
	SetPolicy(machine.NetworkPolicy)
}

// Run runs the suite. newSubject is called once; its engine is shared by the tests.
func Run(t *testing.T, newSubject func(t *testing.T) Subject) {
	s := newSubject(t)
	if problems := s.Engine.Check(context.Background()); len(problems) > 0 {
		t.Fatalf("the engine cannot work here: %+v", problems)
	}
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"Life", lifeTests}, {"Checkpoint", checkpointTests}, {"Running", runningTests}, {"Limits", limitTests},
		{"Files", fileTests}, {"Shared", sharedTests}, {"Network", networkTests}, {"Hostile", hostileTests}, {"Escape", escapeTests}, {"Rot", rotTests}, {"Death", deathTests}, {"Many", manyTests},
	} {
		if s.Apart && group.name == "Shared" {
			group.tests = apartTests
		}
		s.run(t, group.name, group.tests)
	}
}

// RunEscape runs the part of the suite that tells whether code gets out of a machine, or of that
// only the tests that are named, for an engine that is too slow for all of it.
func RunEscape(t *testing.T, s Subject, names ...string) {
	tests := slices.DeleteFunc(slices.Clone(escapeTests), func(one test) bool {
		return len(names) > 0 && !slices.Contains(names, one.name)
	})
	s.run(t, "Escape", tests)
}

func (s Subject) run(t *testing.T, name string, tests []test) {
	t.Run(name, func(t *testing.T) {
		for _, one := range tests {
			t.Run(one.name, func(t *testing.T) {
				t.Cleanup(func() { // after everything that the test itself cleans up
					if left := s.Leftovers(t); len(left) > 0 {
						t.Errorf("left behind: %q", left)
					}
				})
				one.run(t, s)
			})
		}
	})
}

type test struct {
	name string
	run  func(t *testing.T, s Subject)
}

// newID makes an id for a machine and purges it after the test.
func (s Subject) newID(t *testing.T) machine.ID {
	t.Helper()
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	id := machine.ID(hex.EncodeToString(b[:]))
	t.Cleanup(func() {
		if err := s.Engine.Purge(context.Background(), id); err != nil {
			t.Errorf("purge: %v", err)
		}
	})
	return id
}

// fresh starts a new machine from the template.
func (s Subject) fresh(t *testing.T) *session {
	t.Helper()
	return s.start(t, machine.StartSpec{ID: s.newID(t)})
}

// start brings a machine into memory; zero fields of the spec get defaults. It is killed after the
// test.
func (s Subject) start(t *testing.T, spec machine.StartSpec) *session {
	t.Helper()
	session, err := s.tryStart(t, spec)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return session
}

// startMute is start of a session that acknowledges nothing.
func (s Subject) startMute(t *testing.T, spec machine.StartSpec) *session {
	t.Helper()
	session, err := s.listenTo(t, spec, true)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return session
}

func (s Subject) tryStart(t *testing.T, spec machine.StartSpec) (*session, error) {
	t.Helper()
	return s.listenTo(t, spec, false)
}

func (s Subject) listenTo(t *testing.T, spec machine.StartSpec, mute bool) (*session, error) {
	t.Helper()
	if spec.Image == "" {
		spec.Image = "base"
	}
	if spec.MemoryMB == 0 {
		spec.MemoryMB = 2048 // the default of the product
	}
	if spec.Name == "" {
		spec.Name = "brave-otter-42"
	}
	if spec.Life == "" {
		spec.Life = rand.Text()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	box, err := s.Engine.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	session := newSession(t, spec.ID, box, mute)
	session.life = spec.Life
	t.Cleanup(session.end)
	return session, nil
}
