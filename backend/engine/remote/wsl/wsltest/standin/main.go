// Command standin is called as wsl.exe in tests: it passes all on to a WSL that package wsltest
// plays.
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/forevervm/desktop/backend/engine/remote/wsl/wsltest"
)

func main() {
	code, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "the stand-in for wsl.exe:", err)
		code = -1
	}
	os.Exit(code)
}

func run() (int, error) {
	conn, err := net.Dial("tcp", os.Getenv(wsltest.Address))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if err := json.NewEncoder(conn).Encode(wsltest.Call{Args: os.Args[1:], UTF8: os.Getenv("WSL_UTF8") == "1"}); err != nil {
		return 0, err
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	for {
		what, b, err := wsltest.Hear(conn)
		switch {
		case err != nil:
			return 0, err
		case what == wsltest.Exit:
			return int(int32(binary.BigEndian.Uint32(b))), nil
		case what == wsltest.ToOutput:
			_, err = os.Stdout.Write(b)
		default:
			_, err = os.Stderr.Write(b)
		}
		if err != nil {
			return 0, err
		}
	}
}
