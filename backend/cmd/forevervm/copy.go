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
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

// copyDepth bounds folders in folders: a machine can make them up as fast as they are copied.
const copyDepth = 64

func (a *app) copyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "cp FROM TO", Short: "Copy files and folders into a machine, or out of it", Args: cobra.ExactArgs(2),
		Long: "Copy files and folders into a machine, or out of it. What is in a machine is written NAME:PATH, relative to the machine's\n" +
			"home or absolute: `forevervm cp data brave-otter-42:` copies the folder data into its home. Links are left out.",
		RunE: func(cmd *cobra.Command, args []string) error {
			from, to := parsePlace(args[0]), parsePlace(args[1])
			if (from.machine == "") == (to.machine == "") {
				return errors.New("one of the two must be in a machine, written NAME:PATH, and the other one on this computer")
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			job := &copying{client: c, progress: a.newProgress(), machine: from.machine + to.machine}
			if to.machine != "" {
				err = job.in(cmd.Context(), from.path, to.path)
			} else {
				err = job.out(cmd.Context(), from.path, to.path)
			}
			job.progress.end()
			for _, left := range job.left {
				fmt.Fprintln(a.err, "left out:", printable(left))
			}
			if err != nil {
				return err
			}
			done := copiedTree{Machine: job.machine, Files: job.files, Bytes: job.bytes, Left: job.left}
			return a.print(done, func(w io.Writer) { fmt.Fprintf(w, "%s, %s\n", count(job.files, "file"), bytesText(job.bytes)) })
		},
	}
}

// copiedTree is the document of cp.
type copiedTree struct {
	Machine string   `json:"machine"`
	Files   int      `json:"files"`
	Bytes   int64    `json:"bytes"`
	Left    []string `json:"left_out,omitempty"` // what was not copied, and why
}

// place is one side of a copy.
type place struct {
	machine string // "" for this computer
	path    string
}

func parsePlace(text string) place {
	name, where, ok := strings.Cut(text, ":")
	drive := runtime.GOOS == "windows" && len(name) == 1
	if !ok || drive || name == "" || strings.ContainsAny(name, `/\`) {
		return place{path: text}
	}
	if where == "" {
		where = "."
	}
	return place{name, where}
}

// copying is one run of cp.
type copying struct {
	client   *client.Client
	progress *progress
	machine  string
	files    int
	bytes    int64
	left     []string
}

func (c *copying) leave(name, why string) { c.left = append(c.left, name+" ("+why+")") }

// in copies a file or folder of this computer into the machine.
func (c *copying) in(ctx context.Context, local, where string) error {
	info, err := os.Stat(local)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file or folder %s on this computer", local)
	}
	if err != nil {
		return err
	}
	if found, err := c.client.StatFile(ctx, c.machine, where); err == nil && found.Dir || strings.HasSuffix(where, "/") {
		absolute, err := filepath.Abs(local)
		if err != nil {
			return err
		}
		where = path.Join(where, filepath.Base(absolute))
	}
	if !info.IsDir() {
		file, err := os.Open(local)
		if err != nil {
			return err
		}
		defer file.Close()
		return c.send(ctx, file, where)
	}
	root, err := os.OpenRoot(local)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return c.client.MakeFolder(ctx, c.machine, path.Join(where, name))
		case !e.Type().IsRegular():
			c.leave(name, "not a plain file")
			return nil
		}
		file, err := root.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		return c.send(ctx, file, path.Join(where, name))
	})
}

func (c *copying) send(ctx context.Context, file *os.File, where string) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a plain file", file.Name())
	}
	c.progress.begin(where, info.Size())
	if err := c.client.PutFile(ctx, c.machine, where, &watchedFile{file, c.progress}); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	c.files++
	c.bytes += info.Size()
	return nil
}

// out copies a file or folder of the machine to this computer.
func (c *copying) out(ctx context.Context, where, local string) error {
	found, err := c.client.StatFile(ctx, c.machine, where)
	if err != nil {
		return err
	}
	base := path.Base(path.Clean(where))
	if base == "." || base == "/" || base == ".." || base == "~" {
		base = c.machine
	}
	if info, err := os.Stat(local); err == nil && info.IsDir() {
		name, err := filepath.Localize(base)
		if err != nil {
			return fmt.Errorf("%q cannot be the name of a file here; say which name it is to get", base)
		}
		local = filepath.Join(local, name)
	}
	dir, name := filepath.Split(filepath.Clean(local))
	if dir == "" {
		dir = "."
	}
	if found.Dir {
		if err := os.MkdirAll(local, 0o777); err != nil {
			return err
		}
		dir, name = local, "."
	}
	// Whatever the machine calls its files, none lands outside this folder.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if found.Dir {
		return c.folder(ctx, root, where, name, 0)
	}
	return c.receive(ctx, root, where, name)
}

func (c *copying) folder(ctx context.Context, root *os.Root, where, local string, depth int) error {
	list, err := c.client.ListFiles(ctx, c.machine, where)
	if err != nil {
		return err
	}
	if list.More {
		c.leave(where, "only the first of its files are copied, it has too many")
	}
	for _, f := range list.Items {
		inside := path.Join(where, f.Name)
		name, err := filepath.Localize(f.Name)
		switch {
		case err != nil || strings.ContainsAny(f.Name, "/\\"):
			c.leave(inside, "a file here cannot have that name")
		case f.Dir && depth >= copyDepth:
			c.leave(inside, "too deep")
		case f.Dir:
			to := filepath.Join(local, name)
			if err := root.Mkdir(to, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			if err := c.folder(ctx, root, inside, to, depth+1); err != nil {
				return err
			}
		case f.Kind != "file":
			c.leave(inside, "not a plain file")
		default:
			if err := c.receive(ctx, root, inside, filepath.Join(local, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *copying) receive(ctx context.Context, root *os.Root, where, local string) error {
	content, size, err := c.client.GetFile(ctx, c.machine, where)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	defer content.Close()
	c.progress.begin(local, size)
	n, err := writeIn(root, local, 0o666, io.TeeReader(content, c.progress))
	if err != nil {
		return fmt.Errorf("%s: %w", local, err)
	}
	c.files++
	c.bytes += n
	return nil
}

// writeIn is writeWhole under a folder, and no name or link leads out of it.
func writeIn(root *os.Root, local string, mode fs.FileMode, content io.Reader) (n int64, err error) {
	temp := filepath.Join(filepath.Dir(local), fmt.Sprintf(".forevervm-%d-%d.part", os.Getpid(), time.Now().UnixNano()))
	file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, root.Remove(temp))
		}
	}()
	n, err = io.Copy(file, content)
	if err = errors.Join(err, file.Close()); err != nil {
		return n, err
	}
	return n, root.Rename(temp, local)
}

func (a *app) filesRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME PATH…", Short: "Delete files of a machine, and folders with all that is in them", Args: cobra.MinimumNArgs(2), ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachPath(cmd.Context(), args, (*client.Client).RemoveFile)
		},
	}
}

func (a *app) filesFolderCommand() *cobra.Command {
	return &cobra.Command{
		Use: "mkdir NAME PATH…", Short: "Make folders in a machine, and those above them", Args: cobra.MinimumNArgs(2), ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachPath(cmd.Context(), args, (*client.Client).MakeFolder)
		},
	}
}

func (a *app) eachPath(ctx context.Context, args []string, do func(c *client.Client, ctx context.Context, name, path string) error) error {
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	done := api.List[string]{Items: []string{}}
	for _, where := range args[1:] {
		if err := do(c, ctx, args[0], where); err != nil {
			return err
		}
		done.Items = append(done.Items, where)
	}
	return a.print(done, func(io.Writer) {})
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// progress shows on a terminal how far a file has come.
type progress struct {
	to    io.Writer // nil where nobody looks
	name  string
	total int64 // -1 where that is not known
	done  int64
	shown time.Time
	wide  bool // something is shown
}

func (a *app) newProgress() *progress {
	p := &progress{}
	if f, ok := a.err.(*os.File); ok && !a.json && term.IsTerminal(int(f.Fd())) {
		p.to = a.err
	}
	return p
}

func (p *progress) begin(name string, total int64) {
	p.name, p.total, p.done = name, total, 0
}

// Write counts what has gone through.
func (p *progress) Write(b []byte) (int, error) {
	p.done += int64(len(b))
	if p.to != nil && time.Since(p.shown) > 200*time.Millisecond {
		p.shown, p.wide = time.Now(), true
		of := ""
		if p.total >= 0 {
			of = " of " + bytesText(p.total)
		}
		fmt.Fprintf(p.to, "\r\x1b[K%s  %s%s", printable(p.name), bytesText(p.done), of)
	}
	return len(b), nil
}

func (p *progress) end() {
	if p.wide {
		fmt.Fprint(p.to, "\r\x1b[K")
		p.wide = false
	}
}

// watchedFile is a file whose reading is shown. One that is read again from its beginning, after a
// broken connection, counts from zero.
type watchedFile struct {
	*os.File
	progress *progress
}

func (f *watchedFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	_, _ = f.progress.Write(b[:n])
	return n, err
}

func (f *watchedFile) Seek(offset int64, whence int) (int64, error) {
	at, err := f.File.Seek(offset, whence)
	f.progress.done = at
	return at, err
}

// WriteTo keeps io.Copy from reading the file past Read.
func (f *watchedFile) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{f})
}
