//go:build linux && system && soak

package kubernetes

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	forevervm "github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/wire"
)

// TestLoad has four people make 200 machines with a team's daemon in the cluster, of which a few
// are awake at a time. It measures, and fails where a machine has lost its variable.
func TestLoad(t *testing.T) {
	const people, each = 4, 50
	c := newTeam(t, "load")
	c.administer("settings", "set", "idle_swap", "20s")
	address := c.forward()
	var all sync.WaitGroup
	names := make([][]string, people)
	persons := make([]forevervm.Wire, people)
	for i := range people {
		persons[i] = c.as(c.joins(fmt.Sprintf("Person %d", i)), address)
	}
	began := time.Now()
	for i, person := range persons {
		all.Go(func() {
			for n := range each {
				name, err := person.New(enginetest.Bounded(t), wire.NewMachine{})
				if err != nil {
					t.Error(err)
					return
				}
				names[i] = append(names[i], name)
				if got := runs(t, person, name, fmt.Sprintf("(x := %d)", n)); got != fmt.Sprint(n) {
					t.Errorf("%s has %s", name, got)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d machines made, each with a step: %.0f s", people*each, time.Since(began).Seconds())
	if t.Failed() {
		return
	}
	began = time.Now()
	for i, person := range persons {
		list, err := person.List(enginetest.Bounded(t), nil)
		if err != nil || len(list) != each {
			t.Errorf("person %d sees %d machines, %v", i, len(list), err)
		}
	}
	t.Logf("a person's list of %d: %.0f ms", each, time.Since(began).Seconds()*1000/people)
	began = time.Now()
	const wakes = 20
	for n := range wakes {
		if got := runs(t, persons[n%people], names[n%people][n], "x"); got != fmt.Sprint(n) {
			t.Errorf("x is %s, not %d", got, n)
		}
	}
	t.Logf("wakes, one after another: %.1f s each", time.Since(began).Seconds()/wakes)
	pods := strings.Count(c.kubectl("get", "pods", "--selector", machineLabel, "--output", "name"), "pod/")
	t.Logf("%d pods of machines; the daemon says:\n%s", pods, c.administer("storage"))
	t.Logf("the daemon's memory:\n%s", c.kubectl("exec", "deployment/forevervm", "--", "/forevervm", "doctor"))
}
