package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/forevervm/desktop/backend/version"
)

// manualCommand writes what packages bring for the command line, and is not for people.
func (a *app) manualCommand() *cobra.Command {
	var page bool
	cmd := &cobra.Command{
		Use: "manual FOLDER", Short: "Write man pages and completions, as they lie under /usr/share", Args: cobra.MaximumNArgs(1), Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if page {
				return reference(cmd.Root(), a.out)
			}
			if len(args) == 0 {
				return errors.New("name the folder to write to")
			}
			return writeManual(cmd.Root(), args[0])
		},
	}
	cmd.Flags().BoolVar(&page, "page", false, "print docs/cli.md instead")
	return cmd
}

func writeManual(root *cobra.Command, folder string) error {
	root.InitDefaultCompletionCmd()
	root.DisableAutoGenTag = true
	header := doc.GenManHeader{Section: "1", Source: "ForeverVM " + version.Version, Manual: "ForeverVM"}
	if at, err := time.Parse(time.DateOnly, version.Date); err == nil { // else today
		header.Date = &at
	}
	pages := filepath.Join(folder, "man", "man1")
	if err := os.MkdirAll(pages, 0o755); err != nil {
		return err
	}
	if err := doc.GenManTree(root, &header, pages); err != nil {
		return err
	}
	written, err := filepath.Glob(filepath.Join(pages, "*.1"))
	if err != nil {
		return err
	}
	for _, page := range written {
		if err := compress(page); err != nil {
			return err
		}
	}
	for path, write := range map[string]func(string) error{
		"bash-completion/completions/forevervm":    func(path string) error { return root.GenBashCompletionFileV2(path, true) },
		"zsh/site-functions/_forevervm":            root.GenZshCompletionFile,
		"fish/vendor_completions.d/forevervm.fish": func(path string) error { return root.GenFishCompletionFile(path, true) },
	} {
		path = filepath.Join(folder, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := write(path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// compress replaces a man page with its compressed form, in which packages have them; that holds
// neither name nor time.
func compress(page string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	var packed strings.Builder
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = writer.Write(text)
	if err := errors.Join(err, writer.Close()); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(page+".gz", []byte(packed.String()), 0o644), os.Remove(page))
}
