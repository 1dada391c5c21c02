package machine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// A change of the policies holds for what is idle already.
func TestSettingsHoldAtOnce(t *testing.T) {
	inTimeWith(t, machine.Settings{IdleSwap: time.Hour}, func(w *world) {
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

		if err := w.Delete(w.ctx, "a"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if _, err := w.Get(w.ctx, "a"); err == nil {
			t.Error("it is still in the bin")
		}
	})
}
