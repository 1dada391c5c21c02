package remote

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/iox"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

const (
	// endPatience bounds how long a program whose pipe was closed may take to end: its agent saves
	// what is in memory.
	endPatience = 2 * time.Minute
	// whyPatience bounds how long one may take to end that did not lead to an agent.
	whyPatience = 5 * time.Second
)

// Command is a Dialer by a program whose standard input and output lead to an agent, such as ssh.
type Command struct {
	Args []string // the program and its arguments
	Env  []string // what it has in its environment beside what this process has, as NAME=VALUE
	Log  *slog.Logger
	// Explain makes a sentence of what the program said on its standard error before it ended
	// without having led to an agent.
	Explain func(said string) error
	// Talks says that the program tells its errors on its standard output, too.
	Talks bool

	running sync.WaitGroup
}

// Dial starts the program.
func (d *Command) Dial(context.Context) (io.ReadWriteCloser, error) {
	theirIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	stdout, theirOut, err := os.Pipe()
	if err != nil {
		stdin.Close()
		return nil, err
	}
	defer theirOut.Close()
	p := &piped{ReadWriteCloser: protocol.Stdio(stdout, stdin), explain: d.Explain, talks: d.Talks, ended: make(chan struct{}), shut: make(chan struct{})}
	cmd := exec.Command(d.Args[0], d.Args[1:]...) //nolint:gosec // its caller's
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, &p.said
	cmd.WaitDelay = whyPatience // another program of its may keep its standard error
	if len(d.Env) > 0 {
		cmd.Env = append(cmd.Environ(), d.Env...)
	}
	Detach(cmd)
	if err := cmd.Start(); err != nil {
		_ = p.Close()
		return nil, &machine.Error{Kind: machine.ErrUnavailable, Message: "The program " + d.Args[0] + " cannot be started. Install it, and try again.", Cause: err}
	}
	d.running.Go(func() {
		err := cmd.Wait()
		close(p.ended)
		d.Log.Info("the way to a place has ended", "program", d.Args[0], "err", err, "said", plain(p.said.String(), maxMessage))
	})
	d.running.Go(func() {
		select {
		case <-p.ended:
			return
		case <-p.shut:
		}
		select {
		case <-p.ended:
		case <-time.After(endPatience):
			_ = cmd.Process.Kill()
		}
	})
	return p, nil
}

// Close waits until every program has ended whose pipe was closed.
func (d *Command) Close() error {
	d.running.Wait()
	return nil
}

// piped is the pipe to a program.
type piped struct {
	io.ReadWriteCloser
	said    iox.Tail
	explain func(said string) error
	talks   bool
	ended   chan struct{} // closed with the program

	once sync.Once
	shut chan struct{} // closed by Close
}

// Close lets the program end.
func (p *piped) Close() error {
	p.once.Do(func() { close(p.shut) })
	return p.ReadWriteCloser.Close()
}

// talked takes note of what came on the standard output where no agent began.
func (p *piped) talked(noise []byte) {
	if p.talks {
		_, _ = p.said.Write(noise) // which never fails
	}
}

// Why is Explainer's: it tells what the program said.
func (p *piped) Why() error {
	select {
	case <-p.ended:
	case <-time.After(whyPatience):
		return nil
	}
	if said := p.said.String(); said != "" && p.explain != nil {
		return p.explain(said)
	}
	return nil
}
