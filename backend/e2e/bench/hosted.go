//go:build linux

package main

import (
	"fmt"
	"text/tabwriter"
	"time"
)

// throughDaemon measures what it costs to reach a machine of the hosted service through this computer's daemon. Another daemon is the service, so the
// network takes no time.
func throughDaemon(out *tabwriter.Writer, bin string) error {
	service, err := start(bin)
	if err != nil {
		return err
	}
	defer service.stop()
	computer, err := launch(bin, "", "FOREVERVM_TOKEN="+service.token, "FOREVERVM_BASE_URL="+service.url)
	if err != nil {
		return err
	}
	defer computer.stop()
	computer.engine = "hosted"
	name, err := computer.create()
	for until := time.Now().Add(time.Minute); err != nil && time.Now().Before(until); time.Sleep(50 * time.Millisecond) { // it is still signing in
		name, err = computer.create()
	}
	if err != nil {
		return err
	}
	var direct, through []float64
	for i := range 320 {
		for d, times := range map[*daemon]*[]float64{service: &direct, computer: &through} {
			began := time.Now()
			if err := d.exec(name, "1"); err != nil {
				return err
			}
			if i >= 20 { // the first ones open connections
				*times = append(*times, since(began))
			}
		}
	}
	fmt.Fprintln(out, "hosted, by way of this computer\tmedian\taim")
	fmt.Fprintf(out, "a trivial instruction, asked of the service itself\t%s\t\n", ms(median(direct)))
	fmt.Fprintf(out, "the same through the daemon, more\t%s\t1.0 ms\n", ms(median(through)-median(direct)))
	return nil
}
