//go:build linux

// Command bench measures the built programs: against Jupyter with the same Python and libraries,
// against older ones of their own, alone, in a long session whose every state is brought back, with
// large transfers, as the way to a hosted machine, in Docker against `docker run`, and by ssh. It
// prints medians and ratios as a table. `make bench` runs it; it needs Linux, user namespaces and
// about half an hour, and for the last part a Docker (FOREVERVM_TEST_DOCKER) or root, who can start
// one.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

func main() {
	bin := flag.String("bin", "build/bin", "what `make build` left")
	cache := flag.String("cache", "build/cache/bench", "where Jupyter and the unpacked image are kept between runs")
	rounds := flag.Int("rounds", 5, "rounds of each comparison")
	only := flag.String("only", "", "measure only this: jupyter, speed, alone, session, carry, hosted, docker or ssh")
	host := flag.String("ssh", "", "for the part ssh: a computer, as `user@host`. ForeverVM is put there and removed again")
	instructions := flag.Int("instructions", 200, "of a session")
	against := flag.String("against", "", "for the part speed: the folder of older programs, to be measured in turns")
	flag.Parse()
	if err := measure(*bin, *cache, *rounds, *instructions, *only, *host, *against); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measure(bin, cache string, rounds, instructions int, only, host, against string) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	cache, err = filepath.Abs(cache)
	if err != nil {
		return err
	}
	if against != "" {
		if against, err = filepath.Abs(against); err != nil {
			return err
		}
	}
	root := sync.OnceValues(func() (string, error) { return jupyter(bin, cache) })
	for _, part := range []struct {
		name    string
		measure func(*tabwriter.Writer) error
	}{
		{"jupyter", func(out *tabwriter.Writer) error {
			root, err := root()
			if err != nil {
				return err
			}
			return native(bin, func(d *daemon) error { return compare(out, d, root, rounds) })
		}},
		{"speed", func(out *tabwriter.Writer) error { return speed(out, bin, against, rounds) }},
		{"alone", func(out *tabwriter.Writer) error { return native(bin, func(d *daemon) error { return alone(out, d) }) }},
		{"session", func(out *tabwriter.Writer) error {
			return native(bin, func(d *daemon) error { return session(out, d, "without Docker", instructions) })
		}},
		{"carry", func(out *tabwriter.Writer) error { return native(bin, func(d *daemon) error { return carry(out, d) }) }},
		{"hosted", func(out *tabwriter.Writer) error { return throughDaemon(out, bin) }},
		{"docker", func(out *tabwriter.Writer) error {
			root, err := root()
			if err != nil {
				return err
			}
			return inDocker(out, bin, root, rounds, instructions)
		}},
		{"ssh", func(out *tabwriter.Writer) error {
			if host == "" {
				return nil
			}
			return native(bin, func(d *daemon) error { return overSSH(out, d, host, rounds) })
		}},
	} {
		if only != "" && only != part.name {
			continue
		}
		out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		err := part.measure(out)
		fmt.Fprintln(out)
		if err = errors.Join(err, out.Flush()); err != nil {
			return err
		}
	}
	return nil
}

// native measures a daemon whose machines need no Docker.
func native(bin string, measure func(*daemon) error) error {
	d, err := start(bin)
	if err != nil {
		return err
	}
	defer d.stop()
	return measure(d)
}

// jupyter unpacks the sandbox image once per digest, so that Jupyter runs on the very same Python
// and libraries, and adds Jupyter itself beside it.
func jupyter(bin, cache string) (string, error) {
	b, err := os.ReadFile(filepath.Join(bin, "image", "base.json"))
	if err != nil {
		return "", err
	}
	var image struct{ Digest string }
	if err := json.Unmarshal(b, &image); err != nil {
		return "", err
	}
	root := filepath.Join(cache, strings.ReplaceAll(image.Digest, ":", "-"))
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	if err := os.RemoveAll(cache); err != nil {
		return "", err
	}
	tmp := root + ".tmp"
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return "", err
	}
	steps := [][]string{
		{"fsck.erofs", "--extract=" + tmp, "--overwrite", "--no-preserve-owner", filepath.Join(bin, "image", "base.erofs")},
		{"python3", "-m", "venv", filepath.Join(cache, "pip")},
		{
			filepath.Join(cache, "pip", "bin", "pip"), "install", "--quiet", "--target", filepath.Join(tmp, "opt", "bench"),
			"--platform", "manylinux_2_28_x86_64", "--platform", "manylinux2014_x86_64", "--python-version", "3.13", "--implementation", "cp",
			"--only-binary=:all:", "--requirement", "backend/e2e/bench/requirements.txt",
		},
	}
	for _, args := range steps {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("%s: %w", strings.Join(args, " "), err)
		}
	}
	return root, os.Rename(tmp, root)
}

func ms(seconds float64) string { return fmt.Sprintf("%.1f ms", seconds*1000) }

func since(start time.Time) float64 { return time.Since(start).Seconds() }
