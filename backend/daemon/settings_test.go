//go:build real

package daemon_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/api"
)

var defaults = api.Settings{NewMachines: "local", IdleSwap: "10m", CheckpointAfterIdle: "100ms", CheckpointEvery: "each", KeepAllCheckpoints: "1d", KeepHourlyCheckpoints: "7d", KeepDailyCheckpoints: "90d", BinRetention: "7d", MinFreeMemoryPercent: 15, UpdateCheck: "daily", BackupKeep: 3, Network: "public", NetworkHosts: []string{}, NetworkApproved: []string{}}

// What is in the file holds, what is wrong in it is told, and a change holds at once and for good.
func TestSettings(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "config", "settings.json")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"idle_swap": "1h30m", "bin_retention": "soon", "max_in_memory_mb": 4096, "min_free_memory_mb": 512, "from_the_future": [1]}`)
	d := start(t, folder)
	c := newSpecCaller(t, d)
	settings := func() api.Settings {
		t.Helper()
		return as[api.Settings](c, c.send("GET", "/api/settings", nil))
	}
	want := defaults
	want.IdleSwap, want.MaxInMemoryMB, want.MinFreeMemoryMB = "1h30m", 4096, 512
	if got := settings(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if log := read(t, d.dirs.LogFile()); !strings.Contains(log, "bin_retention must be a time between 1h and 3650d") {
		t.Error("nobody is told what is wrong with bin_retention")
	}

	name := as[api.Machine](c, c.send("POST", "/api/machines", nil)).Name
	c.run(name, "1")
	want.IdleSwap, want.BinRetention = "1s", "30d"
	if got := as[api.Settings](c, c.send("PATCH", "/api/settings", map[string]any{"idle_swap": "1s", "bin_retention": "30d"})); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	until(t, "the machine, which was idle already, to leave memory", func() bool {
		return as[api.Machine](c, c.send("GET", "/api/machines/"+name, nil)).State == "swapped"
	})

	for change, because := range map[string]string{
		`{"idle_swap": "20m", "idle_swop": "20m"}`:    "idle_swop",
		`{"idle_swap": "20m", "bin_retention": "1s"}`: "between 1h and 3650d",
		`{"idle_swap": 20}`:                           "idle_swap must be a time",
		`{"idle_swap": "-20m"}`:                       "idle_swap must be a time",
		`{"idle_swap": "99999999d"}`:                  "idle_swap must be a time",
		`{"min_free_memory_mb": 1}`:                   "0, or a whole number of MiB, 64 or more",
		`{"min_free_memory_percent": 100}`:            "from 1 to 90",
		`{"max_in_memory_mb": "4096"}`:                "a whole number of MiB",
		`{"update_check": "hourly"}`:                  "daily",
		`{"max_in_memory_mb": 1e300}`:                 "a whole number of MiB",
		`{"new_machines": "moon"}`:                    `\"local\" or \"hosted\"`,
		`{"port": 1}`:                                 "port",
		`[]`:                                          "",
	} {
		a := c.send("PATCH", "/api/settings", json.RawMessage(change))
		c.fails(a, 400, "Invalid")
		if !strings.Contains(string(a.body), because) {
			t.Errorf("%s: %s", change, a.body)
		}
	}
	if got := settings(); !reflect.DeepEqual(got, want) {
		t.Errorf("something that was refused took effect: %+v", got)
	}

	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	var kept map[string]json.RawMessage
	if err := json.Unmarshal([]byte(read(t, file)), &kept); err != nil || string(kept["idle_swap"]) != `"1s"` || len(kept["from_the_future"]) == 0 || len(kept["port"]) == 0 {
		t.Errorf("the file holds %s, %v", kept, err)
	}
	d = start(t, folder)
	c.d = d
	if got := settings(); !reflect.DeepEqual(got, want) {
		t.Errorf("after a restart %+v, want %+v", got, want)
	}
	if got := as[api.Settings](c, c.send("PATCH", "/api/settings", map[string]any{"idle_swap": nil, "bin_retention": nil, "max_in_memory_mb": nil, "min_free_memory_mb": 0, "min_free_memory_percent": 15})); !reflect.DeepEqual(got, defaults) {
		t.Errorf("%+v, want %+v", got, defaults)
	}

	// A file that was damaged is left for the person to mend.
	write("{")
	a := c.send("PATCH", "/api/settings", map[string]any{"idle_swap": "20m"})
	c.fails(a, 409, "Conflict")
	if !strings.Contains(string(a.body), "settings.json") || read(t, file) != "{" {
		t.Errorf("%s; the file: %s", a.body, read(t, file))
	}
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	c.d = start(t, folder)
	if got := settings(); !reflect.DeepEqual(got, defaults) || read(t, file) != "{" {
		t.Errorf("%+v; the file: %s", got, read(t, file))
	}
}
