//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// forked is how many forks are made one after another.
const forked = 20

// measures are what speed takes of each program, in the order of its table.
var measures = []struct{ name, unit string }{
	{"wake of a swapped machine, to its first result", "ms"},
	{"new session, to its first result", "ms"},
	{"20 forks one after another, each to its first result", "ms"},
	{"checkpoint: the machine stands still", "ms"},
	{"checkpoint: the same, longest of 20", "ms"},
	{"checkpoint: until it is durable", "ms"},
	{"round trip of 1+1", "ms"},
	{"memory per fork", "MB"},
	{"processor time per fork", "ms"},
}

// speed measures the programs in bin and, in turns with them, older ones in against, which may be
// empty: on a computer that does other things as well, only what was measured in turns compares.
func speed(out *tabwriter.Writer, bin, against string, rounds int) error {
	var now, before [][]float64
	for range rounds {
		for _, program := range []struct {
			bin  string
			kept *[][]float64
		}{{against, &before}, {bin, &now}} {
			if program.bin == "" {
				continue
			}
			if err := native(program.bin, func(d *daemon) error {
				one, err := speedRound(d)
				*program.kept = append(*program.kept, one)
				return err
			}); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(out, "speed, medians of %d rounds\tnow\tspread\tbefore\tspread\tratio\n", rounds)
	for i, m := range measures {
		a, spread := column(now, i)
		fmt.Fprintf(out, "%s\t%.1f %s\t%s", m.name, a, m.unit, spread)
		if against != "" {
			b, spread := column(before, i)
			fmt.Fprintf(out, "\t%.1f %s\t%s\t%.2f", b, m.unit, spread, a/b)
		}
		fmt.Fprintln(out)
	}
	return nil
}

// column is the median of a measure over all rounds, and its smallest and largest value.
func column(rounds [][]float64, i int) (middle float64, spread string) {
	var all []float64
	for _, round := range rounds {
		all = append(all, round[i])
	}
	return median(all), fmt.Sprintf("%.1f–%.1f", slices.Min(all), slices.Max(all))
}

// speedRound returns one value for each of measures.
func speedRound(d *daemon) ([]float64, error) {
	name, err := d.create()
	if err != nil {
		return nil, err
	}
	if err := d.exec(name, "import numpy, pandas, matplotlib.pyplot\nx = 1"); err != nil {
		return nil, err
	}
	var wakes, sessions, pauses, durable []float64
	for range 5 {
		wake, err := d.timed(func() error { return d.exec(name, "x + 1") }, name)
		if err != nil {
			return nil, err
		}
		session, err := d.timed(func() error {
			fresh, err := d.create()
			if err == nil {
				err = d.exec(fresh, "1 + 1")
			}
			return err
		}, "")
		if err != nil {
			return nil, err
		}
		wakes, sessions = append(wakes, wake), append(sessions, session)
	}
	for range 20 {
		pause, whole, err := d.save(name)
		if err != nil {
			return nil, err
		}
		pauses, durable = append(pauses, pause), append(durable, whole)
	}
	trip, err := roundTrip(d, name)
	if err != nil {
		return nil, err
	}
	if err := d.rests(); err != nil {
		return nil, err
	}
	available, busy, err := computer()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	for range forked {
		var m struct{ Name string }
		err := d.call("POST", "/api/machines/"+name+"/fork", struct{}{}, &m)
		if err == nil {
			err = d.exec(m.Name, "x + 1")
		}
		if err != nil {
			return nil, err
		}
	}
	forks := since(begin) * 1e3
	if err := d.rests(); err != nil {
		return nil, err
	}
	left, used, err := computer()
	return []float64{
		median(wakes), median(sessions), forks, median(pauses), slices.Max(pauses), median(durable), trip,
		(available - left) / forked, (used - busy) / forked,
	}, err
}

// timed is how many milliseconds f takes on a daemon that rests, after a machine was swapped out,
// if one is named.
func (d *daemon) timed(f func() error, swapped string) (float64, error) {
	if swapped != "" {
		if err := d.call("POST", "/api/machines/"+swapped+"/swap", nil, nil); err != nil {
			return 0, err
		}
	}
	if err := d.rests(); err != nil {
		return 0, err
	}
	begin := time.Now()
	err := f()
	return since(begin) * 1e3, err
}

// save has a machine work and saves it. It returns for how many milliseconds it stood still, and
// how many it took until the checkpoint was durable.
func (d *daemon) save(name string) (pause, whole float64, err error) {
	var c struct {
		PauseMS float64 `json:"pause_ms"`
	}
	if err := d.exec(name, "x += 1"); err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	err = d.call("POST", "/api/machines/"+name+"/checkpoints", struct{}{}, &c)
	return c.PauseMS, since(begin) * 1e3, err
}

// roundTrip is the median of 100, in milliseconds, over the WebSocket.
func roundTrip(d *daemon, name string) (float64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	repl, err := dial(ctx, d, name)
	if err != nil {
		return 0, err
	}
	defer repl.Close() //nolint:errcheck // measured by now
	var trips []float64
	for range 100 {
		begin := time.Now()
		if err := runCode(ctx, repl, "1+1"); err != nil {
			return 0, err
		}
		trips = append(trips, since(begin)*1e3)
	}
	return median(trips), nil
}

// computer says how much memory is available, in MB, and for how long the processors were busy
// since it started, in milliseconds.
func computer() (available, busy float64, err error) {
	memory, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(memory)) {
		var kb float64
		if _, err := fmt.Sscanf(line, "MemAvailable: %g kB", &kb); err == nil {
			available = kb / 1024
		}
	}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	var user, nice, system, idle, wait, irq, soft float64 // in hundredths of a second
	_, err = fmt.Sscanf(string(stat), "cpu %g %g %g %g %g %g %g", &user, &nice, &system, &idle, &wait, &irq, &soft)
	return available, (user + nice + system + irq + soft) * 10, err
}
