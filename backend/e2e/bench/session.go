//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"
)

// opening is the first instruction of a session: the libraries, some state, and a number that
// stands for all of it but generators of random numbers, which forks have of their own.
const opening = `
import io, os, random, zlib
import numpy as np, pandas as pd, matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression
rng = np.random.default_rng(7); random.seed(7)
df = pd.DataFrame(rng.normal(size=(5000, 6)), columns=list("abcdef")); df["g"] = rng.integers(0, 20, 5000)
x, notes, models, figures = 0, [], {}, []
def fingerprint():
    parts = [x, notes, sorted(models), [np.round(m, 9).tobytes() for m in models.values()], figures]
    parts += [int(pd.util.hash_pandas_object(df).sum()), list(df.columns), sorted((f, os.path.getsize(f)) for f in os.listdir(".") if f.endswith(".csv"))]
    return zlib.crc32(repr(parts).encode())
`

// sessionWork is what a session's instructions do, in turn; # is the instruction's number.
var sessionWork = []string{
	`x = #`,
	`df["a"] = df["a"] * 1.01 + df["b"].shift(1).fillna(0) * 0.01`,
	`notes.append(df.groupby("g")["c"].mean().round(6).to_dict())`,
	`fig, ax = plt.subplots(); df["a"].rolling(50).mean().plot(ax=ax, title="step #"); b = io.BytesIO(); fig.savefig(b, format="png"); figures.append(len(b.getvalue())); plt.close(fig)`,
	`models["line #"] = LinearRegression().fit(df[["a", "b", "c"]], df["d"]).coef_`,
	`df.describe().to_csv("summary-#.csv"); notes.append(pd.read_csv("summary-#.csv").shape)`,
	`df = pd.concat([df, pd.DataFrame(rng.normal(size=(50, 6)), columns=list("abcdef")).assign(g=#)], ignore_index=True)`,
	`models["groups #"] = KMeans(4, n_init=1, random_state=#).fit(df[["a", "b"]].head(1000)).cluster_centers_`,
	`notes.append(sorted(random.sample(range(1000), 5)))`,
	`x = x * 31 % 1009`,
}

// typical is how large the image is, in MB, that the aims are for. What takes time is in proportion
// to it, within a factor of two.
const typical = 150

// point is what a session's state was after one of its instructions.
type point struct {
	ID          string  `json:"id"`
	LastSeq     int     `json:"last_seq"`
	PauseMS     float64 `json:"pause_ms"`
	Size        int64   `json:"size"`
	fingerprint string
}

// session has one machine do so many instructions, each of which leaves a checkpoint on its own;
// then every one of these is brought back in a machine of its own, and has to be the state that it
// was. It measures what that costs, against keeping each as a whole image.
func session(out *tabwriter.Writer, d *daemon, where string, instructions int) error {
	if err := d.call("PATCH", "/api/settings", map[string]string{"checkpoint_after_idle": "100ms"}, nil); err != nil {
		return err
	}
	name, err := d.create()
	if err == nil {
		_, err = d.value(name, opening)
	}
	if err != nil {
		return err
	}
	written, err := pagesWritten()
	if err != nil {
		return err
	}
	var points []point
	for i := range instructions {
		code := strings.ReplaceAll(sessionWork[i%len(sessionWork)], "#", strconv.Itoa(i)) + "\nfingerprint()"
		value, err := d.value(name, code)
		if err != nil {
			return err
		}
		p, err := d.point(name, i+1)
		if err != nil {
			return err
		}
		p.fingerprint = value
		points = append(points, p)
	}
	if err := d.rests(); err != nil {
		return err
	}
	after, err := pagesWritten()
	if err != nil {
		return err
	}
	if err := d.call("POST", "/api/machines/"+name+"/swap", nil, nil); err != nil {
		return err
	}
	last := &points[len(points)-1]
	state := last.fingerprint
	if *last, err = d.point(name, last.LastSeq); err != nil { // leaving memory saves it once more
		return err
	}
	last.fingerprint = state
	if err := d.rests(); err != nil {
		return err
	}

	// One that is kept as a whole, as a machine's newest is.
	var fast, blocks []float64
	for range 7 {
		begin := time.Now()
		if err := d.exec(name, "1"); err != nil {
			return err
		}
		fast = append(fast, since(begin))
		if err := d.call("POST", "/api/machines/"+name+"/swap", nil, nil); err != nil {
			return err
		}
	}
	for i, p := range points {
		timed := i%(len(points)/10+1) == 0
		if timed { // the one before is still being removed
			if err := d.rests(); err != nil {
				return err
			}
		}
		took, err := d.returnsTo(name, p)
		if err != nil {
			return fmt.Errorf("the state after instruction %d: %w", p.LastSeq, err)
		}
		if timed {
			blocks = append(blocks, took)
		}
	}

	stored, err := d.stored(name)
	if err != nil {
		return err
	}
	var pauses, scaled, trivial, others []float64
	for i, p := range points {
		pauses = append(pauses, p.PauseMS/1000)
		scaled = append(scaled, p.PauseMS/1000*typical*1e6/float64(p.Size))
		mb := float64(stored[p.ID]) / 1e6
		if i > 0 && i < len(points)-1 { // the first has the libraries, the last is whole
			if i%len(sessionWork) == 0 || i%len(sessionWork) == len(sessionWork)-1 {
				trivial = append(trivial, mb)
			} else {
				others = append(others, mb)
			}
		}
	}
	whole := float64(points[len(points)-1].Size) / 1e6
	delays, err := d.delays(name)
	if err != nil {
		return err
	}
	young, err := d.create()
	if err == nil {
		_, err = d.value(young, opening)
	}
	if err != nil {
		return err
	}
	mb, listing, err := d.forks(young, 1000)
	if err != nil {
		return err
	}
	simple, err := d.writtenEach(name, 30)
	if err != nil {
		return err
	}
	slices.Sort(pauses)
	of := typical / whole
	fmt.Fprintf(out, "a session of %d instructions %s, each a point to return to\t\taim\n", instructions, where)
	fmt.Fprintf(out, "points brought back, with the variables and files that they had\t%d of %d\tall\n", len(points), instructions)
	fmt.Fprintf(out, "one whole image\t%.0f MB\t\n", whole)
	fmt.Fprintf(out, "the machine stands still, p50 and p99\t%s, %s\t\n", ms(median(pauses)), ms(pauses[len(pauses)*99/100]))
	fmt.Fprintf(out, "… p50 for an image of %d MB\t%s\t≤ 120 ms\n", typical, ms(median(scaled)))
	fmt.Fprintf(out, "stored for a trivial instruction, median\t%.2f MB\t≤ 0.3 MB\n", median(trivial))
	fmt.Fprintf(out, "stored for one that works on tables, plots or models, median\t%.2f MB\t\n", median(others))
	fmt.Fprintf(out, "all of it, against whole images\t%.3f\t\n", (sum(trivial)+sum(others))/(whole*float64(len(trivial)+len(others))))
	fmt.Fprintf(out, "written to the disk for each, by all of the computer\t%.2f MB\t\n", float64(after-written)/1e3/float64(instructions))
	fmt.Fprintf(out, "written for a trivial one, of many in turn\t%.2f MB\t≤ 0.6 MB\n", simple)
	fmt.Fprintf(out, "an instruction that comes while the one before is saved, and one that does not\t%s, %s\t\n", ms(median(delays[0])), ms(median(delays[1])))
	fmt.Fprintf(out, "wake from the whole image, and a fork's from blocks, to the first result\t%s, %s\t\n", ms(median(fast)), ms(median(blocks)))
	fmt.Fprintf(out, "… from blocks, for an image of %d MB\t%s\t≤ 450 ms\n", typical, ms(median(blocks)*of))
	fmt.Fprintf(out, "1,000 forks of a machine with one instruction, which have not run: what they take, and listing 100 of them\t%.0f MB, %s\t≤ 300 MB, ≤ 20 ms\n", mb, ms(listing))
	return nil
}

// value runs code and returns what its last expression is.
func (d *daemon) value(name, code string) (string, error) {
	var in struct {
		Seq                  int
		Status, Error, Value string
	}
	if err := d.call("POST", "/api/machines/"+name+"/instructions", map[string]any{"code": code}, &in); err != nil {
		return "", err
	}
	if err := d.call("GET", fmt.Sprintf("/api/machines/%s/instructions/%d?wait=600", name, in.Seq), nil, &in); err != nil {
		return "", err
	}
	if in.Status != "ok" {
		return "", fmt.Errorf("%q ended with %s: %s", code, in.Status, in.Error)
	}
	return in.Value, nil
}

// point waits for the checkpoint that a machine makes on its own after an instruction.
func (d *daemon) point(name string, seq int) (point, error) {
	for range 1000 {
		var list struct{ Items []point }
		if err := d.call("GET", "/api/machines/"+name+"/checkpoints", nil, &list); err != nil {
			return point{}, err
		}
		if len(list.Items) > 0 && list.Items[0].LastSeq == seq {
			return list.Items[0], nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return point{}, fmt.Errorf("instruction %d of %s left no checkpoint in 20 s", seq, name)
}

// stored is how many bytes each checkpoint of a machine takes now, by its ID.
func (d *daemon) stored(name string) (map[string]int64, error) {
	all := map[string]int64{}
	var list struct{ Items []point }
	if err := d.call("GET", "/api/machines/"+name+"/checkpoints", nil, &list); err != nil {
		return nil, err
	}
	for _, p := range list.Items {
		all[p.ID] = p.Size
	}
	return all, nil
}

// returnsTo brings a point back in a machine of its own, and says how long that took, in seconds.
func (d *daemon) returnsTo(name string, p point) (float64, error) {
	begin := time.Now()
	var fork struct{ Name string }
	if err := d.call("POST", "/api/machines/"+name+"/fork", map[string]string{"checkpoint": p.ID}, &fork); err != nil {
		return 0, err
	}
	if err := d.exec(fork.Name, "1"); err != nil {
		return 0, err
	}
	took := since(begin)
	value, err := d.value(fork.Name, "fingerprint()")
	if err != nil {
		return 0, err
	}
	if value != p.fingerprint {
		return 0, fmt.Errorf("it is %s, and was %s", value, p.fingerprint)
	}
	return took, d.call("DELETE", "/api/machines/"+fork.Name+"?purge=true", nil, nil)
}

// delays are the times of an instruction that comes while the one before is being saved, and of one
// that comes at once.
func (d *daemon) delays(name string) (all [2][]float64, err error) {
	for range 10 {
		for i, pause := range []time.Duration{110 * time.Millisecond, 0} {
			if err := d.exec(name, "x = 1"); err != nil {
				return all, err
			}
			time.Sleep(pause) // what is measured is what comes in it
			begin := time.Now()
			if err := d.exec(name, "x"); err != nil {
				return all, err
			}
			all[i] = append(all[i], since(begin))
			if err := d.rests(); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// writtenEach is how many MB the computer writes for a trivial instruction, while a machine does so
// many in turn, each of which is saved. What the last one leaves in memory, as a whole image, the
// system writes within half a minute, once.
func (d *daemon) writtenEach(name string, n int) (float64, error) {
	if err := d.rests(); err != nil {
		return 0, err
	}
	unix.Sync()
	before, err := pagesWritten()
	if err != nil {
		return 0, err
	}
	for i := range n {
		var in struct{ Seq int }
		if err := d.call("POST", "/api/machines/"+name+"/instructions", map[string]any{"code": fmt.Sprintf("x = %d", i)}, &in); err != nil {
			return 0, err
		}
		if _, err := d.point(name, in.Seq); err != nil {
			return 0, err
		}
	}
	after, err := pagesWritten()
	return float64(after-before) / 1e3 / float64(n), err
}

// forks makes so many forks of a machine, and says what they take on the disk, in MB, and how long
// a list of 100 takes, in seconds.
func (d *daemon) forks(name string, n int) (mb, listing float64, err error) {
	if err := d.rests(); err != nil { // what the machine itself takes is there
		return 0, 0, err
	}
	before, err := used(d.home)
	if err != nil {
		return 0, 0, err
	}
	for range n {
		if err := d.call("POST", "/api/machines/"+name+"/fork", struct{}{}, nil); err != nil {
			return 0, 0, err
		}
	}
	if err := d.rests(); err != nil {
		return 0, 0, err
	}
	after, err := used(d.home)
	if err != nil {
		return 0, 0, err
	}
	var times []float64
	for range 15 {
		begin := time.Now()
		if err := d.call("GET", "/api/machines?limit=100", nil, nil); err != nil {
			return 0, 0, err
		}
		times = append(times, since(begin))
	}
	return float64(after-before) / 1e6, median(times), nil
}

// used is how many bytes a folder takes on the disk; what has several names counts once.
func used(folder string) (int64, error) {
	seen := map[uint64]bool{}
	var total int64
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		var stat syscall.Stat_t
		if err == nil {
			err = syscall.Lstat(path, &stat)
		}
		if errors.Is(err, fs.ErrNotExist) { // it has gone meanwhile
			return nil
		}
		if err == nil && !seen[stat.Ino] {
			seen[stat.Ino] = true
			total += stat.Blocks * 512
		}
		return err
	})
	return total, err
}

// pagesWritten is how many kB the computer has written to its disks since it started.
func pagesWritten() (int, error) {
	b, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "pgpgout "); ok {
			return strconv.Atoi(strings.TrimSpace(rest))
		}
	}
	return 0, fmt.Errorf("no pgpgout in /proc/vmstat")
}

func sum(all []float64) (total float64) {
	for _, x := range all {
		total += x
	}
	return total
}
