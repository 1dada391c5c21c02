package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

// maxPlot bounds one picture that is saved.
const maxPlot = 16 << 20

// executed is the document of `exec --json`: the instruction, and what it put out.
type executed struct {
	api.Instruction
	Output string   `json:"output"`          // stdout and stderr, in order
	Plots  []string `json:"plots,omitempty"` // the files that pictures were saved to
}

func (a *app) execCommand() *cobra.Command {
	var timeout float64
	var plots string
	var interrupt bool
	cmd := &cobra.Command{
		Use: "exec NAME CODE|-", Short: "Run code on a machine", Args: cobra.ExactArgs(2), ValidArgsFunction: a.completeMachine,
		Long: "Run code on a machine, with everything that ran there before. CODE - reads it from standard input.\nWhat the code prints is passed on as it comes, then the value of its last expression.\nThe exit status is 1 when it raised an error. Ctrl-C interrupts it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout < 0 {
				return fmt.Errorf("--timeout must be positive")
			}
			code := args[1]
			if code == "-" {
				data, err := io.ReadAll(a.in)
				if err != nil {
					return fmt.Errorf("the code cannot be read from standard input: %w", err)
				}
				code = string(data)
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			x := &execution{app: a, client: c, plots: plots, quiet: a.json}
			in, err := x.run(cmd.Context(), args[0], api.Execute{Code: code, TimeoutSeconds: timeout, Interrupt: interrupt})
			if err != nil {
				return err
			}
			if a.json {
				if err := a.print(executed{Instruction: in, Output: x.output.String(), Plots: x.saved}, nil); err != nil {
					return err
				}
			}
			if in.Status != "ok" {
				return errRaised
			}
			return nil
		},
	}
	cmd.Flags().Float64Var(&timeout, "timeout", 0, "stop the code after so many seconds of running (default: never)")
	cmd.Flags().StringVar(&plots, "plots", "", "save pictures into this folder")
	cmd.Flags().BoolVar(&interrupt, "interrupt", false, "first stop what runs on the machine and cancel what waits")
	return cmd
}

// execution runs one piece of code and shows it.
type execution struct {
	app    *app
	client *client.Client
	plots  string // where pictures are saved; "" only tells of them
	quiet  bool   // collect, and show nothing

	output   strings.Builder
	out, err *terminal
	saved    []string
	unsaved  int
}

// run executes code, shows what it puts out and how it ended. Ctrl-C interrupts it; a second one
// stops waiting for it.
func (x *execution) run(ctx context.Context, name string, e api.Execute) (api.Instruction, error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	in, _, err := x.client.Execute(ctx, name, e)
	if err != nil {
		return in, err
	}
	stopHandling := x.interruptWith(ctx, name, in.Seq, leave)
	defer stopHandling()
	x.out, x.err = x.stream(x.app.out), x.stream(x.app.err)
	pictures := map[string]int{} // by display ID, for those that are updated in place
	begun := x.showProgress(ctx)
	defer begun()
	in, err = x.client.Follow(ctx, name, in.Seq, 0, func(item api.Item) error {
		begun()
		return x.item(ctx, name, in.Seq, item, pictures)
	})
	begun()
	if err != nil {
		return in, err
	}
	return in, x.end(ctx, name, in)
}

// showProgress tells at a terminal what the machine has to wait for, such as its image being
// loaded, until the function that it returns is called.
func (x *execution) showProgress(ctx context.Context) (stop func()) {
	if x.quiet || !isTerminal(x.app.err) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		shown := false
		for pause := time.Second; ; pause = 300 * time.Millisecond { // most machines are there sooner
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			status, err := x.client.Status(ctx)
			if ctx.Err() != nil || err != nil {
				break
			}
			for _, engine := range status.Engines {
				if engine.Busy != nil {
					fmt.Fprintf(x.app.err, "\r%s\x1b[K", progressText(*engine.Busy))
					shown = true
				}
			}
		}
		if shown {
			fmt.Fprint(x.app.err, "\r\x1b[K")
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		all.Wait()
	})
}

// stream is where text for a stream goes; at a terminal through a filter.
func (x *execution) stream(to io.Writer) *terminal {
	if x.quiet {
		to = io.Discard
	}
	return newTerminal(to)
}

// interruptWith makes Ctrl-C interrupt the instruction, until the function that it returns is
// called.
func (x *execution) interruptWith(ctx context.Context, name string, seq int, leave func()) (stop func()) {
	var interrupting sync.WaitGroup
	var presses int
	handle := func() {
		if presses++; presses > 1 {
			leave()
			return
		}
		interrupting.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
			defer cancel()
			if err := x.client.Stop(ctx, name, seq); err != nil && ctx.Err() == nil {
				fmt.Fprintln(x.app.err, "forevervm: the code could not be interrupted:", err)
			}
		})
	}
	x.app.onInterrupt.Store(&handle)
	return func() {
		x.app.onInterrupt.Store(nil)
		interrupting.Wait()
	}
}

func (x *execution) item(ctx context.Context, name string, seq int, item api.Item, pictures map[string]int) error {
	switch item.Kind {
	case "output":
		return x.write(item.Stream, item.Text)
	case "display":
		if rep, ok := representation(item.Representations, "image/png", "image/jpeg"); ok {
			if n, known := pictures[item.DisplayID]; item.Update && known {
				return x.replace(ctx, rep, n)
			}
			if item.DisplayID != "" {
				pictures[item.DisplayID] = len(x.saved)
			}
			return x.save(ctx, name, seq, rep)
		}
		if rep, ok := representation(item.Representations, "text/plain", "text/markdown"); ok {
			return x.write("stdout", strings.TrimSuffix(rep.Text, "\n")+"\n")
		}
	}
	return nil
}

// write passes on what was printed.
func (x *execution) write(stream, text string) error {
	x.output.WriteString(text)
	to, raw := x.out, x.app.out
	if stream == "stderr" {
		to, raw = x.err, x.app.err
	}
	if x.quiet || isTerminal(raw) {
		_, err := to.WriteString(text)
		return err
	}
	_, err := io.WriteString(raw, text)
	to.fresh = strings.HasSuffix(text, "\n")
	return err
}

// end shows how the instruction ended.
func (x *execution) end(ctx context.Context, name string, in api.Instruction) error {
	if rep, ok := representation(in.Data, "image/png", "image/jpeg"); ok {
		if err := x.save(ctx, name, in.Seq, rep); err != nil {
			return err
		}
	}
	if x.quiet {
		return nil
	}
	if !x.out.fresh && (isTerminal(x.app.out) || in.Value != nil) {
		fmt.Fprintln(x.app.out)
	}
	if in.Value != nil {
		if isTerminal(x.app.out) {
			_, _ = x.out.WriteString(*in.Value + "\n")
		} else {
			fmt.Fprintln(x.app.out, *in.Value)
		}
	}
	if in.Error != "" {
		shown := in.Error
		if colours(x.app.err) && in.ErrorANSI != "" {
			shown = in.ErrorANSI
		}
		_, _ = x.err.WriteString(strings.TrimSuffix(shown, "\n") + "\n")
	} else if in.Status == "cancelled" {
		fmt.Fprintln(x.app.err, "The code was cancelled before it ran.")
	}
	if in.Notice != "" {
		_, _ = x.err.WriteString(in.Notice + "\n")
	}
	if x.unsaved > 0 {
		drawn := "1 picture was drawn; --plots FOLDER saves it.\n"
		if x.unsaved > 1 {
			drawn = fmt.Sprintf("%d pictures were drawn; --plots FOLDER saves them.\n", x.unsaved)
		}
		_, _ = x.err.WriteString(drawn)
	}
	return nil
}

// save writes a picture into the folder for them and tells its name.
func (x *execution) save(ctx context.Context, name string, seq int, rep api.Representation) error {
	if x.plots == "" {
		x.unsaved++
		return nil
	}
	extension := map[string]string{"image/png": ".png", "image/jpeg": ".jpg"}[rep.MIME]
	path := filepath.Join(x.plots, fmt.Sprintf("%s-%d-%d%s", filepath.Base(name), seq+1, len(x.saved)+1, extension))
	x.saved = append(x.saved, path)
	if err := x.replace(ctx, rep, len(x.saved)-1); err != nil {
		return err
	}
	if !x.quiet {
		fmt.Fprintln(x.app.err, "saved", path)
	}
	return nil
}

// replace writes the n-th picture's file.
func (x *execution) replace(ctx context.Context, rep api.Representation, n int) error {
	if n >= len(x.saved) {
		return nil
	}
	data, err := x.client.Data(ctx, rep, maxPlot)
	if err == nil {
		if err = os.MkdirAll(x.plots, 0o755); err == nil {
			err = os.WriteFile(x.saved[n], data, 0o644)
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the picture cannot be saved as %s", x.saved[n]), err)
	}
	return nil
}

// representation returns the first form that there is, in the order of preference.
func representation(reps []api.Representation, mimes ...string) (api.Representation, bool) {
	for _, mime := range mimes {
		for _, rep := range reps {
			if rep.MIME == mime {
				return rep, true
			}
		}
	}
	return api.Representation{}, false
}
