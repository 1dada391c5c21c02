//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/forevervm/desktop/backend/engine/docker/dockertest"
)

const (
	imports = "import numpy as np, pandas as pd, matplotlib.pyplot as plt"
	first   = imports + "\nprint(int(np.arange(10).sum()))"
	plain   = "forevervm-bench/plain"
)

// inDocker measures machines in Docker, against the same Python and libraries in a plain container
// of the same Docker, which forgets everything at its end. It takes the Docker that
// FOREVERVM_TEST_DOCKER names or, as root, starts one; where there is none, it says so.
func inDocker(out *tabwriter.Writer, bin, root string, rounds, instructions int) error {
	docker, err := dockertest.Start()
	if err != nil {
		fmt.Fprintf(out, "in Docker: not measured: %v\n", err)
		return nil
	}
	defer func() {
		if err := docker.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}()
	if err := importPlain(docker.Host, root); err != nil {
		return err
	}
	d, err := startIn(bin, docker.Host)
	if err != nil {
		return err
	}
	defer d.stop()

	var ours, theirs, wakes, oursAtOnce, theirsAtOnce []float64
	for range rounds {
		begin := time.Now()
		name, err := d.create()
		if err == nil {
			err = d.exec(name, first)
		}
		if err != nil {
			return err
		}
		ours = append(ours, since(begin))
		if err := d.call("POST", "/api/machines/"+name+"/swap", nil, nil); err != nil {
			return err
		}
		begin = time.Now()
		if err := d.exec(name, "int(np.arange(10).sum())"); err != nil {
			return err
		}
		wakes = append(wakes, since(begin))
		if err := d.call("POST", "/api/machines/"+name+"/swap", nil, nil); err != nil {
			return err
		}
		begin = time.Now()
		if err := runPlain(docker.Host); err != nil {
			return err
		}
		theirs = append(theirs, since(begin))
	}
	const n = 20
	for range 3 {
		names := make([]string, n)
		begin := time.Now()
		err := many(n, func(i int) (err error) {
			if names[i], err = d.create(); err == nil {
				err = d.exec(names[i], first)
			}
			return err
		})
		if err != nil {
			return err
		}
		oursAtOnce = append(oursAtOnce, since(begin))
		for _, name := range names {
			if err := d.call("POST", "/api/machines/"+name+"/swap", nil, nil); err != nil {
				return err
			}
		}
		begin = time.Now()
		if err := many(n, func(int) error { return runPlain(docker.Host) }); err != nil {
			return err
		}
		theirsAtOnce = append(theirsAtOnce, since(begin))
	}
	fmt.Fprintf(out, "in Docker, medians of %d rounds\tForeverVM\tdocker run\tratio\taim\n", rounds)
	for _, row := range []struct {
		name         string
		ours, theirs []float64
		aim          string
	}{
		{"new machine, numpy, pandas and matplotlib imported, first result", ours, theirs, "≤ 500 ms"},
		{"wake of a swapped machine that has them, to its first result", wakes, theirs, "≤ 600 ms"},
		{"20 new machines at once, until the last one's first result", oursAtOnce, theirsAtOnce, ""},
	} {
		a, b := median(row.ours), median(row.theirs)
		fmt.Fprintf(out, "%s\t%s\t%s\t%.2f\t%s\n", row.name, ms(a), ms(b), a/b, row.aim)
	}
	fmt.Fprintln(out)
	return session(out, d, "in Docker", instructions)
}

// startIn starts a daemon whose machines are in this Docker.
func startIn(bin, host string) (*daemon, error) {
	d, err := launch(bin, "docker", "DOCKER_HOST="+host)
	if err != nil {
		return nil, fmt.Errorf("in Docker: %w", err)
	}
	return d, nil
}

// importPlain makes an image of the unpacked root file system.
func importPlain(host, root string) error {
	pack := exec.Command("tar", "-C", root, "-c", ".")
	load := exec.Command("docker", "--host", host, "import", "-", plain)
	var err error
	if load.Stdin, err = pack.StdoutPipe(); err != nil {
		return err
	}
	var packed, loaded bytes.Buffer
	pack.Stderr, load.Stderr = &packed, &loaded
	if err := pack.Start(); err != nil {
		return err
	}
	if err := load.Run(); err != nil {
		return fmt.Errorf("docker import: %w: %s", err, loaded.String())
	}
	if err := pack.Wait(); err != nil {
		return fmt.Errorf("tar: %w: %s", err, packed.String())
	}
	return nil
}

// runPlain runs the same code in a container as everybody would.
func runPlain(host string) error {
	cmd := exec.Command("docker", "--host", host, "run", "--rm", "--network", "none", "--env", "OPENBLAS_NUM_THREADS=1", "--env", "HOME=/root",
		plain, "/usr/bin/python3", "-c", first)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "45" {
		return fmt.Errorf("docker run: %w: %s", err, out)
	}
	return nil
}
