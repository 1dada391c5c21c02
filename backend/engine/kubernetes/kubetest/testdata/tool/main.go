// Command tool is all of an image of tests. Alone, it waits until it is ended.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) == 1 {
		ended := make(chan os.Signal, 1)
		signal.Notify(ended, syscall.SIGTERM)
		<-ended
		return
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(7)
	}
}

func run(what, path string) error {
	switch what {
	case "write": // standard input, and say who wrote it
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		defer file.Close()
		if _, err := io.Copy(file, os.Stdin); err != nil {
			return err
		}
		fmt.Print(os.Getuid())
		return file.Close()
	case "read":
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.Copy(os.Stdout, file)
		return err
	case "fill": // until there is no room, and say how many MiB there were
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		defer file.Close()
		for n := 0; ; n++ {
			if _, err := file.Write(make([]byte, 1<<20)); errors.Is(err, syscall.ENOSPC) {
				fmt.Print(n)
				return nil
			} else if err != nil {
				return err
			}
		}
	}
	return errors.New("there is no " + what)
}
