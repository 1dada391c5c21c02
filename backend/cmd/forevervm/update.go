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

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/update"
	"github.com/forevervm/desktop/backend/version"
)

func (a *app) updateCommand() *cobra.Command {
	group := &cobra.Command{
		Use: "update", Short: "Check for a newer version", Args: cobra.NoArgs,
		Long: "Look for a newer version of ForeverVM, and say what is new in it. `forevervm update install` installs it.\n" +
			"ForeverVM checks automatically once a day, unless you say `forevervm settings set update_check off`. It downloads and installs nothing automatically.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			updater, _, err := a.updater()
			if errors.Is(err, update.ErrOff) {
				return a.printOff(err)
			}
			if err != nil {
				return err
			}
			newer, err := updater.Look(cmd.Context())
			if err != nil {
				return err
			}
			return a.printUpdate(updater, newer)
		},
	}
	var agreed bool
	install := &cobra.Command{
		Use: "install", Short: "Download and install it; machines keep their state", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.installUpdate(cmd.Context(), agreed) },
	}
	install.Flags().BoolVar(&agreed, "yes", false, "do not ask")
	apply := &cobra.Command{
		Use: "apply FOLDER", Short: "Install what was downloaded into a folder, if it is signed; the administrator does this", Args: cobra.ExactArgs(1), Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			program, err := thisProgram()
			if err != nil {
				return err
			}
			keys, err := update.ParseKeys(update.SigningKey)
			if err != nil {
				return err
			}
			return update.Staged(args[0]).Apply(cmd.Context(), filepath.Dir(program), version.Version, keys, a.err)
		},
	}
	group.AddCommand(install, apply)
	return group
}

// updater looks for newer releases of this program, whose path it returns.
func (a *app) updater() (*update.Updater, string, error) {
	dirs, err := home.Resolve(a.home)
	if err != nil {
		return nil, "", err
	}
	program, err := thisProgram()
	if err != nil {
		return nil, "", err
	}
	updater, err := update.New(update.Config{Folder: dirs.UpdatesDir(), Bin: filepath.Dir(program)})
	return updater, program, err
}

// thisProgram is where this program lies, whatever links led to it.
func thisProgram() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(program)
}

func (a *app) printOff(why error) error {
	return a.print(api.Update{Version: version.Version, Problem: why.Error()}, func(w io.Writer) { fmt.Fprintf(w, "This is version %s: %v.\n", version.Version, why) })
}

func (a *app) printUpdate(updater *update.Updater, newer *update.Release) error {
	document := api.Update{Version: version.Version}
	if at := updater.LookedAt(); !at.IsZero() {
		document.LookedAt = &at
	}
	if newer != nil {
		release := api.Release(*newer)
		document.Newer = &release
	}
	return a.print(document, func(w io.Writer) {
		if newer == nil {
			fmt.Fprintf(w, "Version %s, which runs here, is the newest.\n", version.Version)
			return
		}
		fmt.Fprintf(w, "Version %s is there; this is %s.\n", printable(newer.Version), version.Version)
		if newer.Notes != "" {
			fmt.Fprintln(w)
			for line := range strings.Lines(newer.Notes) {
				fmt.Fprintf(w, "  %s\n", printable(strings.TrimSpace(line)))
			}
			fmt.Fprintln(w)
		}
		if newer.Size > 0 {
			fmt.Fprintf(w, "`forevervm update install` downloads it (%s) and installs it.\n", bytesText(newer.Size))
		}
	})
}

func (a *app) installUpdate(ctx context.Context, agreed bool) error {
	updater, program, err := a.updater()
	if errors.Is(err, update.ErrOff) {
		return a.printOff(err)
	}
	if err != nil {
		return err
	}
	newer, err := updater.Look(ctx)
	if err != nil {
		return err
	}
	if err := a.printUpdate(updater, newer); err != nil || newer == nil {
		return err
	}
	if !agreed {
		if a.json || !a.atTerminal() {
			return errors.New("nobody can be asked here: say --yes")
		}
		if !a.agrees("Download and install it now?") {
			return nil
		}
	}
	if _, err := a.download(ctx, updater); err != nil {
		return err
	}
	if runtime.GOOS == "windows" { // where a program that runs cannot be replaced
		if daemon, err := connect.Running(ctx, a.connection()); err == nil && daemon != nil {
			defer daemon.Close()
			if err := daemon.Shutdown(ctx); err != nil {
				return err
			}
		}
	}
	if err := updater.Install(ctx, program, a.in, a.err); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "Version %s is installed. Your machines keep their state.\n", printable(newer.Version))
	return nil
}

// download says at a terminal how far it is.
func (a *app) download(ctx context.Context, updater *update.Updater) (*update.Release, error) {
	done := make(chan struct{})
	told := make(chan struct{})
	go func() {
		defer close(told)
		if !isTerminal(a.err) {
			return
		}
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if newer := updater.Newer(); newer != nil && newer.Size > 0 {
					fmt.Fprintf(a.err, "\r%s of %s ", bytesText(newer.Bytes), bytesText(newer.Size))
				}
			}
		}
	}()
	newer, err := updater.Download(ctx)
	close(done)
	<-told
	if isTerminal(a.err) {
		fmt.Fprintln(a.err)
	}
	return newer, err
}
