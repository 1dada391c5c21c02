// Command driver lives through the story of a place in WSL, as a daemon does. It is a program of
// its own so that its build for Windows can run under Wine. Where something has to happen outside,
// it says so in a line, and goes on when it reads one.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/engine/remote"
	"github.com/forevervm/desktop/backend/engine/remote/parts"
	"github.com/forevervm/desktop/backend/engine/remote/wsl"
	"github.com/forevervm/desktop/backend/machine"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	if err := story(ctx, os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println("the end")
}

// outside has somebody else do something.
func outside(what string) error {
	fmt.Println("please", what)
	_, err := bufio.NewReader(os.Stdin).ReadString('\n')
	return err
}

// story has a wsl.exe, the folder for a distribution, and the folders of parts of two versions.
func story(ctx context.Context, program, folder, first, second string) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	p := wsl.New(wsl.Config{Program: program, Folder: folder, Free: func(string) (int64, error) { return 1 << 40, nil }, Log: log})
	one, err := parts.Own(first)
	if err != nil {
		return err
	}
	other, err := parts.Own(second)
	if err != nil {
		return err
	}
	f, err := p.Look(ctx)
	if err != nil || f.Problem == nil || f.Problem.Step != wsl.StepInstall {
		return fmt.Errorf("without WSL it is known as %+v, %w", f, err)
	}
	if runtime.GOOS == "windows" {
		restart, err := p.Enable(ctx, wsl.StepInstall)
		if err != nil || restart {
			return fmt.Errorf("WSL is installed, and Windows has to be restarted: %v, %w", restart, err)
		}
	} else if err := outside("install WSL"); err != nil {
		return err
	}
	if f, err := p.Look(ctx); err != nil || f.Problem != nil || f.Installed != "" || p.Fits(f, one) != nil {
		return fmt.Errorf("with WSL it is known as %+v, %w", f, err)
	}
	if err := install(ctx, p, one); err != nil {
		return err
	}
	owner := make([]byte, 16)
	_, err = rand.Read(owner)
	place := remote.New(remote.Config{Name: "wsl", Owner: hex.EncodeToString(owner), Dialer: p.Dialer(), Patience: wsl.Patience})
	err = errors.Join(err, lives(ctx, p, place, other), place.Close())
	if err != nil {
		return err
	}
	if err := outside("see what is left"); err != nil {
		return err
	}
	if err := p.Remove(ctx); err != nil {
		return err
	}
	if f, err := p.Look(ctx); err != nil || f.Problem != nil || f.Installed != "" {
		return fmt.Errorf("removed, it is known as %+v, %w", f, err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the folder stays: %w", err)
	}
	return p.Remove(ctx) // a second time: nothing is there
}

func install(ctx context.Context, p *wsl.Place, made *parts.Parts) error {
	last := int64(0)
	if err := p.Install(ctx, made, func(n int64) { last = n }); err != nil || last != made.Size {
		return fmt.Errorf("%d of %d bytes were sent, %w", last, made.Size, err)
	}
	if f, err := p.Look(ctx); err != nil || f.Problem != nil || f.Installed != made.Digest {
		return fmt.Errorf("after %s was installed, it is known as %+v, %w", made.Digest, f, err)
	}
	return nil
}

// lives is the life of a machine: a checkpoint, the death of the agent, an update.
func lives(ctx context.Context, p *wsl.Place, place *remote.Place, other *parts.Parts) error {
	for _, problem := range place.Check(ctx) {
		return fmt.Errorf("the place has a problem: %s %s", problem.What, problem.Do)
	}
	start := time.Now()
	box, err := place.Start(ctx, machine.StartSpec{ID: "a", Name: "test", Image: "base", MemoryMB: 512, Life: "first"})
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "a first machine after", time.Since(start))
	if err := result(ctx, box, "x = 41; x", "41"); err != nil {
		return err
	}
	info, err := box.Checkpoint(ctx, nil)
	if err == nil {
		err = place.Persist(ctx, "a", info.ID, true)
	}
	if err == nil {
		err = outside("kill the agent")
	}
	if err != nil {
		return err
	}
	if box, err = again(ctx, place, box, "first", info.ID, "second"); err != nil {
		return err
	}
	if err := result(ctx, box, "x += 1; x", "42"); err != nil {
		return err
	}
	place.Reset()
	if err := install(ctx, p, other); err != nil {
		return err
	}
	if box, err = again(ctx, place, box, "second", info.ID, "third"); err != nil {
		return err
	}
	if err := result(ctx, box, "x + 1", "43"); err != nil {
		return err
	}
	box.Kill()
	<-box.Ended()
	return place.Purge(ctx, "a")
}

// again waits until the connection to a machine is lost, and brings it into memory again.
func again(ctx context.Context, place *remote.Place, box machine.Sandbox, life, checkpoint, next string) (machine.Sandbox, error) {
	select {
	case <-box.Ended():
	case <-ctx.Done():
		return nil, errors.New("nobody notices that the connection is lost")
	}
	if cause := box.Cause(); cause.Kind != machine.EndedApart {
		return nil, fmt.Errorf("it ended as %+v", cause)
	}
	info, err := place.Reclaim(ctx, "a", life, []string{checkpoint})
	if err != nil {
		return nil, err
	}
	if info != nil {
		checkpoint = info.ID
	}
	return place.Start(ctx, machine.StartSpec{ID: "a", Name: "test", Image: "base", MemoryMB: 512, Life: next, Checkpoint: checkpoint})
}

// result runs code and waits for its value.
func result(ctx context.Context, box machine.Sandbox, code, want string) error {
	seq := int(time.Now().UnixMilli() & (1<<40 - 1))
	if err := box.Execute(ctx, seq, code, nil); err != nil {
		return err
	}
	for {
		select {
		case f, ok := <-box.Frames():
			switch {
			case !ok:
				return fmt.Errorf("it ended as %+v", box.Cause())
			case f.Type != machine.FrameResult || f.Seq != seq: // the results before, which were not acknowledged, come again
			case f.Result.Value == nil || strings.TrimSpace(*f.Result.Value) != want:
				return fmt.Errorf("%s becomes %+v, want %s", code, f.Result, want)
			default:
				go func() {
					for range box.Frames() { // it has nothing more to say
					}
				}()
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("%s does not get to its end", code)
		}
	}
}
