package service_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
)

// A change of the policies holds for what is idle already.
func TestSettingsHoldAtOnce(t *testing.T) {
	inTimeWith(t, service.Settings{IdleSwap: time.Hour}, func(w *world) {
		w.create("a")
		w.exec("a", "one")
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		w.inState("a", machine.Idle)
		settings := w.Settings()
		if settings.BinRetention != 7*24*time.Hour {
			t.Errorf("the defaults are not told: %+v", settings)
		}
		settings.IdleSwap, settings.BinRetention = time.Minute, time.Hour
		w.SetSettings(settings)
		time.Sleep(61 * time.Second)
		synctest.Wait()
		w.inState("a", machine.Swapped)

		if err := w.at("a").Delete(w.ctx); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if _, err := w.Find(w.ctx, "a"); err == nil {
			t.Error("it is still in the bin")
		}
	})
}

// A sandbox that takes long to accept a limit holds up no other machine. In real time, as what
// waits for a lock stops the other.
func TestALimitThatTakesLongHoldsUpNobody(t *testing.T) {
	w := &world{t: t, ctx: t.Context(), dir: t.TempDir(), engine: newScript()}
	w.open()
	defer w.close()
	defer w.engine.endAll()
	m, err := w.Create(w.ctx, machine.CreateOptions{Name: "slow"})
	w.ok(err)
	w.ok(w.at("slow").Wake(w.ctx))
	asked := make(chan struct{})
	w.engine.set(func() { w.engine.limitTakes, w.engine.limiting = time.Hour, asked })
	given, giveUp := context.WithCancel(w.ctx)
	defer giveUp()
	changed := make(chan error, 1)
	mb, title := 512, "a title"
	go func() {
		_, err := w.at("slow").Update(given, machine.Change{MemoryMB: &mb, Title: &title})
		changed <- err
	}()
	<-asked
	made := make(chan error, 1)
	go func() {
		_, err := w.Create(w.ctx, machine.CreateOptions{Name: "other"})
		made <- err
	}()
	select {
	case err := <-made:
		w.ok(err)
	case <-time.After(20 * time.Second):
		t.Error("another machine cannot be made meanwhile")
	}
	w.engine.set(func() { w.engine.limitTakes, w.engine.limiting = 0, nil })
	giveUp()
	if err := <-changed; err == nil {
		t.Error("it was changed though the limit was not")
	}
	if got := w.get("slow"); got.Title != "" || got.MemoryMB != m.MemoryMB {
		t.Errorf("half of it was done: %+v", got)
	}
}
