// Command hostile stands for a pod's supervisor that means harm, and for the programs beside it,
// which give out whatever lies in the volume.
package main

import (
	"archive/tar"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/forevervm/desktop/backend/engine/enginetest/hostile"
	"github.com/forevervm/desktop/backend/sandbox"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(stage string, args []string) error {
	switch stage {
	case "connect":
		return sandbox.Connect(args[0])
	case "take":
		return sandbox.Take(args[0], os.Stdin)
	case "saved":
		entries, err := os.ReadDir(filepath.Join(args[0], "checkpoints"))
		for _, one := range entries {
			fmt.Println(one.Name())
		}
		fmt.Println(sandbox.AllSaved)
		if os.IsNotExist(err) {
			return nil
		}
		return err
	case "give":
		out := io.Writer(os.Stdout)
		if os.Mkdir(filepath.Join(args[0], "given-"+args[1]), 0o700) == nil { // the first time
			out = &cutOff{cutAfter}
		}
		return give(filepath.Join(args[0], "checkpoints"), args[1], out)
	}
	cfg, err := sandbox.Parse(args)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGTERM)
	listener, err := net.Listen("unix", cfg.Listen)
	if err != nil {
		return err
	}
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	if err := hostile.Serve(cfg, conn); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err := conn.Close(); err != nil {
		return err
	}
	select {} // until it is killed
}

// cutAfter is how many bytes of an archive come: it ends within its first file.
const cutAfter = 1100

// cutOff is what a busy cluster makes of a program's output: its end is missing, and the program
// is said to have done its work.
type cutOff struct{ left int }

func (b *cutOff) Write(p []byte) (int, error) {
	n, err := os.Stdout.Write(p[:min(len(p), b.left)])
	if b.left -= n; b.left == 0 {
		os.Exit(0)
	}
	return n, err
}

// give packs what is there, of whatever kind. A file that is called huge it gives out for ever.
func give(folder, id string, to io.Writer) error {
	archive := tar.NewWriter(to)
	err := filepath.Walk(filepath.Join(folder, id), func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		target := ""
		if info.Mode()&os.ModeSymlink != 0 {
			if target, err = os.Readlink(path); err != nil {
				return err
			}
		}
		header, err := tar.FileInfoHeader(info, target)
		if err != nil {
			return err
		}
		header.Name = name
		if err := archive.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.Copy(archive, file)
		return err
	})
	if err != nil {
		return err
	}
	return archive.Close()
}
