package enginetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

var manyTests = []test{
	{"TwentyForks", func(t *testing.T, s Subject) {
		parent := s.fresh(t)
		parent.value("import numpy, pandas, matplotlib; x = 40")
		info := parent.checkpoint()
		parent.end()
		const n = 20
		forks := make([]*session, n)
		start := time.Now()
		for i := range n {
			to := s.newID(t)
			copied, err := s.Checkpoints.Copy(parent.ctx(), parent.id, info.ID, to)
			if err != nil {
				t.Fatal(err)
			}
			forks[i] = s.start(t, machine.StartSpec{ID: to, Checkpoint: copied.ID, Clone: true, Acked: parent.acks()})
		}
		t.Logf("%d forks one after another: %v", n, time.Since(start))
		// All at once, and none hears of another.
		var all sync.WaitGroup
		for i, fork := range forks {
			all.Go(func() {
				fork.expect(fmt.Sprintf("x += %d; open('/root/f', 'w').write(str(x)); x", i), fmt.Sprint(40+i))
				fork.expect("int(open('/root/f').read())", fmt.Sprint(40+i))
				fork.expect("import os, socket; (socket.gethostname() != '', os.getpid() > 0)", "(True, True)")
			})
		}
		all.Wait()
		saved := make([]machine.CheckpointInfo, n)
		for i, fork := range forks {
			all.Go(func() { saved[i] = fork.stop() })
		}
		all.Wait()
		for i := range 3 {
			back := s.start(t, machine.StartSpec{ID: forks[i].id, Checkpoint: saved[i].ID, Acked: forks[i].acks()})
			back.expect("x", fmt.Sprint(40+i))
		}
	}},
	{"StartedAtOnce", func(t *testing.T, s Subject) {
		var all sync.WaitGroup
		ids := make([]machine.ID, 8)
		for i := range ids {
			ids[i] = s.newID(t)
		}
		for _, id := range ids {
			all.Go(func() {
				m := s.start(t, machine.StartSpec{ID: id})
				m.expect("6*7", "42")
			})
		}
		all.Wait()
	}},
}
