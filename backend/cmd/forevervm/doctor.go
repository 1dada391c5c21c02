package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/version"
)

// lowDisk is how many free bytes are too few to go on for long.
const lowDisk = 1 << 30

// finding is one thing that the doctor looked at.
type finding struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	What  string `json:"what"`         // what was found, a sentence
	Do    string `json:"do,omitempty"` // what to do about it, a sentence
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check that everything works, and say what to do if not", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := a.examine(cmd.Context())
			sick := 0
			for _, f := range findings {
				if !f.OK {
					sick++
				}
			}
			err := a.print(struct {
				OK     bool      `json:"ok"`
				Checks []finding `json:"checks"`
			}{sick == 0, findings}, func(w io.Writer) {
				for _, f := range findings {
					mark := "ok     "
					if !f.OK {
						mark = "problem"
					}
					fmt.Fprintf(w, "%s  %s: %s\n", mark, f.Check, f.What)
					if f.Do != "" {
						fmt.Fprintf(w, "         %s\n", f.Do)
					}
				}
			})
			if err == nil && sick > 0 {
				err = fmt.Errorf("%d of %d checks found a problem", sick, len(findings))
			}
			return err
		},
	}
}

// examine looks at everything, from the files to the engines.
func (a *app) examine(ctx context.Context) (findings []finding) {
	add := func(check string, err error, well, do string) {
		f := finding{Check: check, OK: err == nil, What: well}
		if err != nil {
			f.What, f.Do = err.Error(), do
		}
		findings = append(findings, f)
	}
	direct := os.Getenv(connect.BaseURLVariable) != "" && a.home == ""
	if !direct {
		dirs, err := home.Resolve(a.home)
		if err == nil {
			err = dirs.Make()
		}
		add("files", err, "ForeverVM keeps its files in "+dirs.Data+".", "Choose another folder with --home or FOREVERVM_HOME.")
		if err != nil {
			return findings
		}
		add("token", a.tokenIsPrivate(ctx, dirs), "The owner's token is there, for you alone.", "Delete "+dirs.OwnerTokenFile()+" and start the daemon again, which makes a new one.")
	}
	c, err := a.connect(ctx)
	var status api.Status
	if err == nil {
		status, err = c.Status(ctx)
	}
	if direct && errors.Is(err, client.ErrUnsupported) {
		_, err = c.Wire().Whoami(ctx)
		add("server", err, os.Getenv(connect.BaseURLVariable)+" answers; it is not a daemon of this program.", "Check FOREVERVM_BASE_URL and FOREVERVM_TOKEN.")
		return findings
	}
	add("daemon", err, fmt.Sprintf("The daemon answers (version %s, process %d); %d machines, %d of them in memory.", status.Version, status.PID, status.Total, status.InMemory), "Look at its log, and run `forevervm serve` to see what it says.")
	if err != nil {
		return findings
	}
	if status.Version != version.Version {
		add("version", fmt.Errorf("the daemon is version %s, this program is %s", status.Version, version.Version), "", "Use the program that was installed with the daemon, or end the daemon: the next command starts its own.")
	}
	for _, engine := range status.Engines {
		if len(engine.Problems) == 0 {
			add("engine "+engine.Name, nil, strings.Join(append([]string{"It can run machines."}, engine.Notes...), " "), "")
		}
		for _, problem := range engine.Problems {
			if !engine.Default && !strings.Contains(engine.Name, ":") { // machines run without it, but for those of a place
				add("engine "+engine.Name, nil, "It is not used. "+problem.What+" "+problem.Do, "")
				continue
			}
			add("engine "+engine.Name, errors.New(problem.What), "", problem.Do)
		}
	}
	var low error
	if status.DiskFreeBytes >= 0 && status.DiskFreeBytes < lowDisk {
		low = fmt.Errorf("only %s are free on the disk", bytesText(status.DiskFreeBytes))
	}
	add("disk", low, fmt.Sprintf("%s used by ForeverVM, %s free.", bytesText(status.DiskUsedBytes), bytesText(status.DiskFreeBytes)), "Make room, or purge machines that are no longer needed.")
	for _, warning := range status.Warnings {
		add("warning", errors.New(warning), "", "")
	}
	return findings
}

func (a *app) tokenIsPrivate(ctx context.Context, dirs home.Dirs) error {
	if _, err := dirs.EnsureOwnerToken(ctx); err != nil {
		return err
	}
	info, err := os.Stat(dirs.OwnerTokenFile())
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("other users can read the owner's token (%s has mode %v)", dirs.OwnerTokenFile(), info.Mode().Perm())
	}
	return err
}
