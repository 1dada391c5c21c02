//go:build linux

package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"text/tabwriter"
	"time"
)

// fileSize is how much is carried each way, in bytes.
const fileSize = 100 << 20

// overSSH measures machines on a computer that is reached by ssh against those of this computer, in
// turns.
func overSSH(out *tabwriter.Writer, d *daemon, host string, rounds int) (err error) {
	add := exec.Command(filepath.Join(d.bin, "forevervm"), "places", "add", "ssh", host, "--yes", "--home", d.home)
	add.Stderr = os.Stderr
	if err := add.Run(); err != nil {
		return err
	}
	far := "ssh:" + host
	defer func() { err = errors.Join(err, d.call("DELETE", "/api/places/"+url.PathEscape(far), nil, nil)) }()
	whats := []string{
		"a new machine, to its first result", "a small step", "wake, to the first result", "checkpoint: the machine stands still",
		"a file of 100 MB into the machine", "and out of it",
	}
	took := map[string]map[string][]float64{"": {}, far: {}}
	for range rounds {
		for engine, record := range took {
			all, err := d.round(engine)
			if err != nil {
				return err
			}
			for i, seconds := range all {
				record[whats[i]] = append(record[whats[i]], seconds)
			}
		}
	}
	fmt.Fprintln(out, "by ssh\there\tthere\tratio")
	for _, what := range whats {
		here, there := median(took[""][what]), median(took[far][what])
		fmt.Fprintf(out, "%s\t%s\t%s\t%.2f\n", what, ms(here), ms(there), there/here)
	}
	return nil
}

// round measures one machine of an engine, in the order of overSSH's list.
func (d *daemon) round(engine string) (all []float64, err error) {
	d.engine = engine
	begin := time.Now()
	name, err := d.create()
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, d.call("DELETE", "/api/machines/"+name+"?purge=true", nil, nil))
	}()
	took := func(err error) error {
		all = append(all, since(begin))
		begin = time.Now()
		return err
	}
	if err := took(d.exec(name, "x = 1")); err != nil {
		return nil, err
	}
	if err := took(d.exec(name, "x + 1")); err != nil {
		return nil, err
	}
	if err := d.call("POST", "/api/machines/"+name+"/swap", nil, nil); err != nil {
		return nil, err
	}
	begin = time.Now()
	if err := took(d.exec(name, "x + 1")); err != nil {
		return nil, err
	}
	pause, _, err := d.save(name)
	if err != nil {
		return nil, err
	}
	all = append(all, pause/1e3)
	for _, way := range []string{http.MethodPut, http.MethodGet} {
		seconds, err := d.file(way, name, fileSize)
		if err != nil {
			return nil, err
		}
		all = append(all, seconds)
	}
	return all, nil
}
