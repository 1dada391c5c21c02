package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/process"
	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/home"
)

func (a *app) stopCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "stop", Short: "Save all machines and stop the daemon", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all { // or the window would start the daemon again
				if err := endOthers(cmd.Context(), home.Window); err != nil {
					return err
				}
			}
			ran, err := connect.Stop(cmd.Context(), a.connection())
			if err != nil {
				return err
			}
			if all {
				if err := endOthers(cmd.Context(), program); err != nil {
					return err
				}
			}
			return a.print(struct {
				Ran bool `json:"ran"`
			}{ran}, func(w io.Writer) {
				if !ran {
					fmt.Fprintln(w, "No daemon runs.")
				}
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "end everything that runs from where this program lies: the window, too, and what AI apps started")
	return cmd
}

// program is what this one is called.
const program = "forevervm"

// endOthers ends the programs of a name that lie beside this one, but for itself, and waits until
// they have. Where a program can be asked to, as not on Windows, a daemon saves its machines
// before; elsewhere what drives a machine saves it when its daemon is gone.
func endOthers(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	self, err := thisProgram()
	if err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(self), name)
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	asked := map[int32]bool{}
	for {
		others, err := running(path)
		if err != nil || len(others) == 0 {
			return err
		}
		for _, one := range others {
			if asked[one.Pid] {
				continue
			}
			asked[one.Pid] = true
			if err := one.TerminateWithContext(ctx); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return fmt.Errorf("%s (process %d) cannot be ended: %w", path, one.Pid, err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s (process %d) does not end: %w", path, others[0].Pid, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// running are the other processes of a program, also where it has been replaced since.
func running(path string) (others []*process.Process, err error) {
	all, err := process.Processes()
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		found, err := one.Exe()
		found = strings.TrimSuffix(found, " (deleted)") // as Linux says it
		same := found == path || runtime.GOOS == "windows" && strings.EqualFold(found, path)
		if err == nil && same && int(one.Pid) != os.Getpid() { // one that has ended has an error
			others = append(others, one)
		}
	}
	return others, nil
}
