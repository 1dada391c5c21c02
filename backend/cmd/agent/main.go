//go:build linux

// Command agent has the machines of a place: a Linux without a daemon of its own, such as another
// computer or a virtual machine. It speaks with the daemon of the person's computer on its standard
// input and output (package engine/remote). Its log is standard error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/native"
	"github.com/forevervm/desktop/backend/engine/remote"
	"github.com/forevervm/desktop/backend/engine/remote/parts"
	"github.com/forevervm/desktop/backend/sandbox"
	"github.com/forevervm/desktop/backend/sandbox/cgroup"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
	"github.com/forevervm/desktop/backend/version"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func run() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	folder := flag.String("parts", filepath.Dir(program), "folder of supervisor, runsc and image")
	data := flag.String("data", "", "folder of the machines; made if need be")
	sums := flag.String("sums", "", "file with SHA-256 sums of parts, as sha256sum writes it; for parts that cannot change, on a read-only disk")
	digest := flag.Bool("digest", false, "say which parts are beside this program, and end")
	unpack := flag.Bool("unpack", false, "take parts from the standard input, as a tar file, in the place of those beside this program, and end")
	keep := flag.Bool("keep", false, "the parts may be replaced while no agent runs: keep copies of those that machines need")
	first := flag.Bool("first", false, "be the first process of a pod: run until it is to end, and let the agents there end before")
	flag.Parse()
	if *first {
		beFirst()
		return nil
	}
	if *digest {
		installed, err := parts.Installed(*folder)
		if err == nil {
			fmt.Println(parts.Mark + installed)
		}
		return err
	}
	if !filepath.IsAbs(*data) || !filepath.IsAbs(*folder) {
		return fmt.Errorf("call it as: agent -data FOLDER, as an absolute path")
	}
	if err := os.MkdirAll(*data, 0o700); err != nil {
		return err
	}
	if *unpack {
		err := parts.Unpack(os.Stdin, *folder, *data, func() (io.Closer, error) { return remote.Alone(*data) })
		if err == nil {
			fmt.Println(parts.Done)
		}
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	signal.Ignore(syscall.SIGHUP) // the end of ssh closes the pipe, too
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	known, err := readSums(*sums, *folder)
	if err != nil {
		return err
	}
	store := local.NewStore(local.Config{
		Sums: known, Runsc: filepath.Join(*folder, "runsc"), Images: filepath.Join(*folder, "image"), Data: *data, Log: log,
		Warn: func(sentence string) { log.Warn(sentence) },
	})
	engine := native.New(native.Config{Supervisor: filepath.Join(*folder, "supervisor"), Store: store, Log: log})
	var held io.Closer // until this process ends
	agent := remote.Agent{
		Engine: engine, Store: store, Version: version.Version, Log: log,
		Memory: memory,
		Enter: func(owner string) (err error) {
			if held, err = remote.TakeOver(*data, owner); err == nil {
				go prepare(ctx, engine, store, log)
			}
			return err
		},
	}
	var keeping sync.WaitGroup
	over, end := context.WithCancel(context.Background())
	if *sums != "" || *keep { // an update replaces the disk that the parts are on
		keeping.Go(func() { keepParts(over, store, log) })
	}
	in, inErr := closable(0, os.Stdin)
	out, outErr := closable(1, os.Stdout)
	if err = errors.Join(inErr, outErr); err == nil {
		err = agent.Serve(ctx, protocol.Stdio(in, out))
	}
	err = errors.Join(err, engine.Close())
	end()
	keeping.Wait()
	if held != nil {
		err = errors.Join(err, held.Close())
	}
	return err
}

// closable is a file whose Close ends a Read or a Write that waits: in place of this process's
// standard input or output, fd, with which it does not. The agent would not end before the other
// end lets go.
//
// Others may have the same open file, for which this holds, too. That is fine: both ends of the
// pipe are this agent's alone as long as it runs. A socket from ssh is input and output at once, so
// both must be able to wait. A shell that read on from a terminal would make it block again.
func closable(fd int, file *os.File) (*os.File, error) {
	if file.SetDeadline(time.Time{}) == nil {
		return file, nil // it came as one
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), file.Name()), nil
}

// memory tells how many bytes machines can still take, and how many there are. A pod has less than
// its node.
func memory() (free, total int64) {
	total, free = sandbox.HostMemory()
	if limit, used := cgroup.ContainerMemory(); limit > 0 && limit < total {
		return min(free, max(0, limit-used)), limit
	}
	return free, total
}

// readSums reads the sums of the files in a folder; none where no file has any.
func readSums(file, folder string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	sums, err := parts.ReadSums(file)
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	for name, sum := range sums {
		known[filepath.Join(folder, name)] = sum
	}
	return known, nil
}

const (
	// keepEvery is how often it is seen whether copies of the parts are to be kept, and keepWithin
	// bounds how long that may take at the end, for a machine that came since. The next agent waits
	// for that.
	keepEvery  = time.Minute
	keepWithin = 20 * time.Second
)

// keepParts sees to it that machines can be brought into memory after an update, too, until over
// ends, and then once more.
func keepParts(over context.Context, store *local.Store, log *slog.Logger) {
	held := store.HoldParts()
	defer held.Close()
	for last := false; !last; {
		ctx, cancel := over, context.CancelFunc(func() {})
		select {
		case <-over.Done():
			ctx, cancel = context.WithTimeout(context.Background(), keepWithin)
			last = true
		case <-time.After(keepEvery):
		}
		err := held.Keep(ctx)
		cancel()
		if err != nil && (last || over.Err() == nil) {
			log.Warn("after an update, machines that are there now may not come into memory", "err", err)
		}
	}
}

// prepare makes what the first machine would have to wait for, and removes the parts of earlier
// versions that no machine needs any more.
func prepare(ctx context.Context, engine *native.Engine, store *local.Store, log *slog.Logger) {
	if err := engine.Prepare(ctx); err != nil && ctx.Err() == nil {
		log.Warn("the first machine will take longer", "err", err)
	}
	if err := store.ForgetParts(); err != nil {
		log.Warn("parts of an earlier version stay", "err", err)
	}
}
