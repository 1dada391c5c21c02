//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/forevervm/desktop/backend/client"
)

// throughDaemon measures what it costs to reach a machine of the hosted service through this
// computer's daemon, in the two ways in which the SDKs run code. Another daemon is the service, so
// the network takes no time. Both ways take turns, on a machine each.
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
	far, err := computer.create()
	for until := time.Now().Add(time.Minute); err != nil && time.Now().Before(until); time.Sleep(50 * time.Millisecond) { // it is still signing in
		far, err = computer.create()
	}
	if err != nil {
		return err
	}
	near, err := service.create()
	if err != nil {
		return err
	}
	ends := [2]end{{d: service, machine: near}, {d: computer, machine: far}}
	for i := range ends {
		if err := ends[i].dial(); err != nil {
			return err
		}
		defer ends[i].repl.Close() //nolint:errcheck // measured by then
	}
	fmt.Fprintln(out, "a trivial instruction on a hosted machine, medians\tasked of the service itself\tthrough the daemon, more\taim")
	for _, way := range []struct {
		name  string
		run   func(*end) error
		trips float64 // round trips that it takes
	}{{"a call, of the two for an instruction", (*end).calls, 2}, {"a message on a socket", (*end).message, 1}} {
		var times [2][]float64
		for i := range 520 {
			for which := range ends {
				began := time.Now()
				if err := way.run(&ends[which]); err != nil {
					return err
				}
				if i >= 20 { // the first ones open connections
					times[which] = append(times[which], since(began))
				}
			}
		}
		direct, through := median(times[0])/way.trips, median(times[1])/way.trips
		fmt.Fprintf(out, "%s\t%.2f ms\t%.2f ms\t≤ 1 ms\n", way.name, direct*1000, (through-direct)*1000)
	}
	return nil
}

// end is a machine at the end of one way to it.
type end struct {
	d       *daemon
	machine string
	repl    *client.Repl
}

func (e *end) dial() (err error) {
	e.repl, err = dial(context.Background(), e.d, e.machine)
	return err
}

// calls has code run and waits for its result.
func (e *end) calls() error {
	var taken struct {
		Seq int `json:"instruction_seq"`
	}
	path := "/v1/machine/" + e.machine + "/exec"
	if err := e.d.call("POST", path, map[string]any{"instruction": map[string]any{"code": "1", "timeout_seconds": 600}}, &taken); err != nil {
		return err
	}
	var said struct {
		Result struct{ Value, Error *string }
	}
	if err := e.d.call("GET", fmt.Sprintf("%s/%d/result", path, taken.Seq), nil, &said); err != nil {
		return err
	}
	if said.Result.Value == nil || strings.TrimSpace(*said.Result.Value) != "1" {
		return fmt.Errorf("the result is %+v", said.Result)
	}
	return nil
}

func (e *end) message() error { return runCode(context.Background(), e.repl, "1") }
