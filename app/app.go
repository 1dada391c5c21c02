// Package app is the desktop shell around the page: a window that finds the daemon, or starts it,
// and shows the page, and an icon in the system's tray. Machines live in the daemon; nothing
// happens to them when the window closes or dies.
package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/forevervm/desktop/app/deeplink"
	"github.com/forevervm/desktop/backend/home"
)

const (
	name    = "ForeverVM"
	program = home.Window
	// entry is the name of the desktop entry and the icon, in a package and without one.
	entry = "forevervm"
	// hiddenFlag starts the program without showing its window, at login.
	hiddenFlag = "--hidden"
)

const usage = "Usage: " + program + " [" + hiddenFlag + "] [forevervm://machine/NAME]"

// Run shows the window until the person quits and returns the program's exit status. Where there is
// no display, it says so and prints an address for a browser instead. One window a user and home: a
// second start raises the first and ends.
func Run(page fs.FS) int {
	wish, err := parse(os.Args[1:])
	if err != nil {
		return fail(err.Error())
	}
	if _, err := fs.Stat(page, "index.html"); err != nil {
		return fail("This build of ForeverVM has no page in it. Build it with `make build`.")
	}
	dirs, err := home.Resolve("")
	if err != nil {
		return fail(sentence(err))
	}
	s, err := newShell(dirs, wish)
	if err != nil {
		return fail(sentence(err))
	}
	defer s.daemon.Close()
	if err := display(); err != nil {
		return inBrowser(s.daemon, os.Stdout, err)
	}
	first, release, err := claim(dirs.Instance(), wish, s.obey)
	if err != nil {
		return fail(sentence(err))
	}
	if !first {
		return 0
	}
	defer release()
	if err := s.run(page); err != nil {
		return inBrowser(s.daemon, os.Stdout, fmt.Errorf("the window cannot be opened (%w)", err))
	}
	return 0
}

// wish is what a start was asked for.
type wish struct {
	Hidden  bool
	Machine string // the name of the one to open; "" for none
}

func parse(args []string) (wish, error) {
	var w wish
	for _, arg := range slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "" }) {
		switch {
		case arg == hiddenFlag:
			w.Hidden = true
		case deeplink.Is(arg):
			machine, ok := deeplink.Machine(arg)
			if !ok {
				return w, fmt.Errorf("%q is not the address of a machine; one looks like forevervm://machine/brave-otter-42.", arg)
			}
			w.Machine = machine
		default:
			return w, errors.New(usage)
		}
	}
	return w, nil
}

func fail(sentence string) int {
	fmt.Fprintln(os.Stderr, sentence)
	return 1
}
