//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/wire"
)

// step is one thing that both sides do. The first one opens the session. Repeat: the median of so
// many counts.
type step struct {
	Name   string `json:"name"`
	Code   string `json:"code"`
	Repeat int    `json:"repeat"`
}

const plot = "import matplotlib.pyplot as plt\nplt.figure()\nplt.plot(range(100))\nplt.show()"

var steps = []step{
	{"new session, numpy, pandas and matplotlib imported, first result", "import numpy as np, pandas as pd, matplotlib.pyplot as plt\nint(np.arange(10).sum())", 1},
	{"round trip of 1+1", "1+1", 100},
	{"100,000 printed lines", "for i in range(100000): print(i)", 1},
	{"a plot", plot, 5},
}

// compare takes turns: ForeverVM through its public WebSocket with its Go SDK, Jupyter through its
// own client.
func compare(out *tabwriter.Writer, d *daemon, root string, rounds int) error {
	ours, theirs := map[string][]float64{}, map[string][]float64{}
	for range rounds {
		if err := foreverVM(d, ours); err != nil {
			return fmt.Errorf("ForeverVM: %w", err)
		}
		if err := d.rests(); err != nil { // what it saves takes nothing from Jupyter
			return err
		}
		if err := jupyterRound(root, theirs); err != nil {
			return fmt.Errorf("jupyter: %w", err)
		}
	}
	fmt.Fprintf(out, "against Jupyter, medians of %d rounds\tForeverVM\tJupyter\tratio\n", rounds)
	for _, s := range steps {
		a, b := median(ours[s.Name]), median(theirs[s.Name])
		fmt.Fprintf(out, "%s\t%s\t%s\t%.2f\n", s.Name, ms(a), ms(b), a/b)
	}
	return nil
}

// foreverVM does one round on a new machine.
func foreverVM(d *daemon, record map[string][]float64) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var repl *client.Repl
	for _, s := range steps {
		var times []float64
		for range s.Repeat {
			begin := time.Now()
			if repl == nil {
				var err error
				if repl, err = dial(ctx, d, ""); err != nil {
					return err
				}
				defer repl.Close() //nolint:errcheck // measured by now
			}
			if err := runCode(ctx, repl, s.Code); err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
			times = append(times, since(begin))
		}
		record[s.Name] = append(record[s.Name], median(times))
	}
	return nil
}

// dial opens a socket to a machine; "" makes a new one.
func dial(ctx context.Context, d *daemon, machine string) (*client.Repl, error) {
	return client.New(d.url, d.token, client.Options{Name: "bench"}).Wire().Repl(ctx, machine)
}

// runCode runs code and takes in all that it puts out.
func runCode(ctx context.Context, repl *client.Repl, code string) error {
	in := wire.Instruction{Code: code, TimeoutSeconds: new(600.0)}
	_, result, err := repl.Exec(ctx, in, func(wire.Chunk) error { return nil })
	if err == nil && result.Error != nil {
		err = errors.New(*result.Error)
	}
	return err
}

// jupyterRound runs jupyter.py in the unpacked image, as an ordinary program on this machine's
// kernel.
func jupyterRound(root string, record map[string][]float64) error {
	const script = `mount --rbind /dev "$1/dev" && mount --rbind /proc "$1/proc" && mount -t tmpfs none "$1/tmp" && mount -t tmpfs none "$1/root" &&
		exec chroot "$1" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/root LANG=C.UTF-8 PYTHONPATH=/opt/bench JUPYTER_PATH=/opt/bench/share/jupyter \
		OPENBLAS_NUM_THREADS=1 /usr/bin/python3 -c "$2"`
	program, err := os.ReadFile("backend/e2e/bench/jupyter.py")
	if err != nil {
		return err
	}
	input, err := json.Marshal(steps)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", root, string(program))
	var stdout bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	var round map[string]float64
	if err := json.Unmarshal(stdout.Bytes(), &round); err != nil {
		return err
	}
	for name, seconds := range round {
		record[name] = append(record[name], seconds)
	}
	return nil
}

func median(seconds []float64) float64 {
	if len(seconds) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(seconds))
	return sorted[len(sorted)/2]
}
