package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/client"
)

func (a *app) filesCommand() *cobra.Command {
	group := &cobra.Command{Use: "files", Short: "Look at a machine's files, and copy them out and in"}
	group.AddCommand(a.filesListCommand(), a.filesGetCommand(), a.filesPutCommand(), a.filesRemoveCommand(), a.filesFolderCommand())
	return group
}

func (a *app) filesListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ls NAME [PATH]", Short: "List a folder of a machine, its home by default", Args: cobra.RangeArgs(1, 2), ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			var where string
			if len(args) > 1 {
				where = args[1]
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			list, err := c.ListFiles(cmd.Context(), args[0], where)
			if err != nil {
				return err
			}
			return a.print(list, func(w io.Writer) {
				table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				for _, f := range list.Items {
					name, size, changed := printable(f.Name), bytesText(f.Size), "-"
					if f.Dir {
						name, size = name+"/", "-"
					}
					if f.Modified != nil {
						changed = f.Modified.Local().Format(time.DateTime)
					}
					fmt.Fprintf(table, "%s\t%s\t%s\n", size, changed, name)
				}
				table.Flush()
				if list.More {
					fmt.Fprintln(w, "There are more files than are listed here.")
				}
			})
		},
	}
}

// copied is the document of a copy.
type copied struct {
	Machine string `json:"machine"`
	Path    string `json:"path"`  // in the machine
	Local   string `json:"local"` // "-" for standard input or output
	Bytes   int64  `json:"bytes"`
}

func (a *app) filesGetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get NAME PATH [LOCAL|-]", Short: "Copy a file out of a machine (- writes it to standard output)", Args: cobra.RangeArgs(2, 3), ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			local := path.Base(filepath.ToSlash(args[1]))
			if len(args) > 2 {
				local = args[2]
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			content, _, err := c.GetFile(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			defer content.Close()
			if local == "-" {
				_, err = io.Copy(a.out, content)
				return err
			}
			if info, statErr := os.Stat(local); statErr == nil && info.IsDir() {
				local = filepath.Join(local, path.Base(filepath.ToSlash(args[1])))
			}
			n, err := writeWhole(local, 0o666, content)
			if err != nil {
				return fmt.Errorf("%s cannot be written: %w", local, err)
			}
			return a.print(copied{args[0], args[1], local, n}, func(w io.Writer) { fmt.Fprintf(w, "%s (%s)\n", local, bytesText(n)) })
		},
	}
}

// writeWhole writes a file all at once: what breaks off half-way leaves what was there.
func writeWhole(local string, mode fs.FileMode, content io.Reader) (n int64, err error) {
	root, err := os.OpenRoot(filepath.Dir(local))
	if err != nil {
		return 0, err
	}
	defer root.Close()
	return writeIn(root, filepath.Base(local), mode, content)
}

func (a *app) filesPutCommand() *cobra.Command {
	return &cobra.Command{
		Use: "put NAME LOCAL|- [PATH]", Short: "Copy a file into a machine, into its home by default (- reads standard input)", Args: cobra.RangeArgs(2, 3), ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			where := filepath.Base(args[1])
			if len(args) > 2 {
				where = args[2]
			} else if args[1] == "-" {
				return errors.New("give the PATH in the machine when the content comes from standard input")
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			n, err := a.put(cmd.Context(), c, args[0], args[1], where)
			if err != nil {
				return err
			}
			return a.print(copied{args[0], where, args[1], n}, func(w io.Writer) { fmt.Fprintf(w, "%s (%s)\n", where, bytesText(n)) })
		},
	}
}

// put copies a file, or standard input, into a machine and returns its size.
func (a *app) put(ctx context.Context, c *client.Client, name, local, where string) (int64, error) {
	if local == "-" {
		counted := &counter{from: a.in}
		err := c.PutFile(ctx, name, where, counted)
		return counted.n, err
	}
	file, err := os.Open(local)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is not a file", local)
	}
	return info.Size(), c.PutFile(ctx, name, where, file)
}

// counter counts what is read through it.
type counter struct {
	from io.Reader
	n    int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}
