package main

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/opener"
)

func (a *app) openCommand() *cobra.Command {
	var printOnly bool
	cmd := &cobra.Command{
		Use: "open", Short: "Open the window in a browser", Args: cobra.NoArgs,
		Long: "Open the page that shows the machines in a browser, and print its address. The address works once, within a minute. " +
			"Where the browser says that it may not read a file (one installed as a snap may not), paste the printed address into it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			code, err := c.OpenCode(cmd.Context())
			if err != nil {
				return err
			}
			at, err := c.Endpoint(cmd.Context())
			if err != nil {
				return err
			}
			page := at.URL + "/#open=" + code
			if err := a.print(struct {
				URL string `json:"url"`
			}{page}, func(w io.Writer) { fmt.Fprintln(w, page) }); err != nil || printOnly || a.json {
				return err
			}
			if err := a.openBrowser(cmd.Context(), page); err != nil {
				return fmt.Errorf("no browser could be opened; open the address above yourself: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&printOnly, "print", false, "only print the address")
	return cmd
}

// openBrowser shows an address in the person's browser; where there is no display it does nothing.
func (a *app) openBrowser(ctx context.Context, address string) error {
	if runtime.GOOS == "windows" { // where other users cannot read a program's arguments
		return opener.Open(ctx, address)
	}
	dirs, err := home.Resolve(a.home)
	if err != nil {
		return err
	}
	if err := dirs.Make(); err != nil {
		return err
	}
	file, err := leadTo(dirs.Run, address)
	if err != nil {
		return err
	}
	if err := opener.Open(ctx, file); !errors.Is(err, opener.ErrNoDisplay) {
		return err
	}
	return os.Remove(file)
}

// hintLife is how long a hint is of use: as long as the code in it.
const hintLife = time.Minute

var hint = template.Must(template.New("hint").Parse(
	`<!doctype html><meta charset="utf-8"><title>ForeverVM</title><script>location.replace({{.}})</script>` + "\n"))

// leadTo writes a page that only the user may read and that leads a browser to an address, and
// returns its path. The address itself is not for an argument: every user of the computer can read
// those, and would race for the code in it. Nobody knows when the browser has read the page; pages
// of former calls whose codes have died are removed.
func leadTo(folder, address string) (path string, err error) {
	former, err := fs.Glob(os.DirFS(folder), "open-*.html")
	if err != nil {
		return "", err
	}
	for _, name := range former {
		old := filepath.Join(folder, name)
		if info, err := os.Stat(old); err == nil && time.Since(info.ModTime()) > hintLife {
			_ = os.Remove(old) // it opens nothing any more
		}
	}
	page, err := os.CreateTemp(folder, "open-*.html") // of mode 0600
	if err != nil {
		return "", err
	}
	defer func() {
		if closeErr := page.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			_ = os.Remove(page.Name())
		}
	}()
	return page.Name(), hint.Execute(page, address)
}
