//go:build linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/google/renameio/v2"

	"github.com/forevervm/desktop/backend/checkpoint"
)

// Where nobody can hold a supervisor's standard input and output, as in a pod of a cluster, its
// link comes over a socket, by a second program in the same container (Connect). Nobody logs that
// program's streams. Saved states go in and out in the same way (Take, Give).

const (
	// linkPatience bounds how long a supervisor waits for its link: who started it may be gone.
	linkPatience = 15 * time.Minute
	// dialPatience bounds how long a supervisor that is starting may take to listen.
	dialPatience = 10 * time.Second
	// lingerPatience bounds how long process 1 of a container stays after the machine's end. What
	// it saved can be taken out only while the container runs.
	lingerPatience = 3 * time.Minute
)

// listened is Run with the link from the socket cfg.Listen. Afterwards it stays until it is told to
// go, so that what the machine saved can be taken out.
func listened(cfg Config) int {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT)
	err := awaitLink(cfg.Listen, signals)
	if errors.Is(err, errAskedToEnd) {
		return exitOK
	}
	if err != nil {
		return failed(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0) // Run gives up the right to
	if err != nil {
		return failed(err)
	}
	defer null.Close()
	status := Run(cfg)
	if status != exitOK {
		return status // who looks at the pod sees it
	}
	// The link ends for its other end only when nobody has it any more.
	if err := errors.Join(unix.Dup3(int(null.Fd()), 0, 0), unix.Dup3(int(null.Fd()), 1, 0)); err != nil {
		return failed(err)
	}
	for len(signals) > 0 { // it ended because of that
		<-signals
	}
	select {
	case <-signals:
	case <-time.After(lingerPatience):
	}
	return status
}

var errAskedToEnd = errors.New("asked to end")

// awaitLink makes the first connection to the socket our standard input and output. There is no
// second: the link is the daemon's alone.
func awaitLink(socket string, signals <-chan os.Signal) error {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return fmt.Errorf("listen for the link: %w", err)
	}
	defer func() { _ = listener.Close() }()
	if err := listener.SetDeadline(time.Now().Add(linkPatience)); err != nil {
		return err
	}
	done := make(chan struct{})
	defer close(done)
	asked := make(chan struct{})
	go func() {
		select {
		case <-signals:
			close(asked)
			_ = listener.Close()
		case <-done:
		}
	}()
	conn, err := listener.AcceptUnix()
	if err != nil {
		select {
		case <-asked:
			return errAskedToEnd
		default:
			return fmt.Errorf("wait for the link: %w", err)
		}
	}
	defer func() { _ = conn.Close() }()
	file, err := conn.File()
	if err != nil {
		return err
	}
	defer file.Close()
	return errors.Join(unix.Dup3(int(file.Fd()), 0, 0), unix.Dup3(int(file.Fd()), 1, 0))
}

// Connect passes bytes between our standard input and output and a supervisor's socket, until
// either ends. The supervisor may be just starting.
func Connect(socket string) error {
	var conn *net.UnixConn
	for deadline := time.Now().Add(dialPatience); ; time.Sleep(lockPoll) {
		var err error
		if conn, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"}); err == nil {
			break
		}
		if time.Now().After(deadline) {
			return err
		}
	}
	defer func() { _ = conn.Close() }()
	go func() {
		_, _ = io.Copy(conn, os.Stdin) // its end is the link's end, whatever the reason
		_ = conn.CloseWrite()
	}()
	_, err := io.Copy(os.Stdout, conn)
	return err
}

// Take unpacks checkpoints from an archive into a folder.
func Take(folder string, archive io.Reader) error {
	const most = 1 << 50 // who sends it has bounded it
	_, err := checkpoint.Folder(folder).Unpack(context.Background(), archive, most, func(checkpoint.Manifest) error { return nil })
	return err
}

// Give packs a checkpoint of a machine's folder into an archive.
func Give(machine, id string, archive io.Writer) error {
	return checkpoint.Folder(filepath.Join(machine, checkpointsName)).Pack(context.Background(), id, os.Getuid(), archive)
}

// Saved waits until no supervisor has the machine's folder, and writes the ids of its checkpoints,
// a line each, and at the end AllSaved.
func Saved(machine string, to io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), savePatience+farewellPatience)
	defer cancel()
	for {
		lock, err := Lock(machine)
		if err == nil {
			defer lock.Close()
			break
		}
		if !errors.Is(err, ErrLocked) {
			return err
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
			return errors.New("its supervisor does not end")
		}
	}
	list, err := checkpoint.Folder(filepath.Join(machine, checkpointsName)).List()
	if err != nil {
		return err
	}
	for _, m := range list {
		if _, err := fmt.Fprintln(to, m.ID); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(to, AllSaved)
	return err
}

// Place copies a file to where a node reads it, as a whole or not at all, and waits to be told to
// end: who runs it on each node of a cluster starts it again else.
func Place(from, to string) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT)
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	const readable = 0o644
	if err := renameio.WriteFile(to, content, readable, renameio.WithTempDir(filepath.Dir(to))); err != nil {
		return err
	}
	<-signals
	return nil
}

// lockPoll is how often it is seen whether a lock is free. To wait in flock(2) cannot be bounded.
const lockPoll = 20 * time.Millisecond

// beside runs a stage that another program in a supervisor's container has; known is false for
// others.
func beside(stage string, args []string) (known bool, err error) {
	stages := map[string]struct {
		args int
		run  func() error
	}{
		"connect": {1, func() error { return Connect(args[0]) }},
		"take":    {1, func() error { return Take(args[0], os.Stdin) }},
		"give":    {2, func() error { return Give(args[0], args[1], os.Stdout) }},
		"place":   {2, func() error { return Place(args[0], args[1]) }},
		"saved":   {1, func() error { return Saved(args[0], os.Stdout) }},
	}
	one, known := stages[stage]
	if known && len(args) != one.args {
		return true, fmt.Errorf("%s takes %d arguments", stage, one.args)
	}
	if !known {
		return false, nil
	}
	return true, one.run()
}
