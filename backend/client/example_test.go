//go:build real

package client_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/wire"
)

// Code runs on a machine that keeps its variables.
func Example() {
	ctx := context.Background()
	c, err := connect.Daemon(ctx, connect.Options{Name: "example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	m, err := c.CreateMachine(ctx, api.NewMachine{Title: "an example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, code := range []string{"x = 6", "x * 7"} {
		queued, _, err := c.Execute(ctx, m.Name, api.Execute{Code: code, TimeoutSeconds: 30})
		if err != nil {
			fmt.Println(err)
			return
		}
		done, err := c.Wait(ctx, m.Name, queued.Seq)
		if err != nil {
			fmt.Println(err)
			return
		}
		if done.Value != nil {
			fmt.Println(*done.Value)
		}
	}
	// Output: 42
}

// Output is followed as it comes.
func ExampleClient_Follow() {
	ctx := context.Background()
	c, err := connect.Daemon(ctx, connect.Options{Name: "example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	m, err := c.CreateMachine(ctx, api.NewMachine{})
	if err != nil {
		fmt.Println(err)
		return
	}
	queued, _, err := c.Execute(ctx, m.Name, api.Execute{Code: "for i in range(3): print(i)\n1/0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	done, err := c.Follow(ctx, m.Name, queued.Seq, 0, func(item api.Item) error {
		fmt.Print(item.Text)
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(done.Status, done.ErrorName)
	// Output:
	// 0
	// 1
	// 2
	// error ZeroDivisionError
}

// The public protocol, which the hosted service speaks as well.
func ExampleClient_Wire() {
	ctx := context.Background()
	local, err := connect.Daemon(ctx, connect.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	at, err := local.Endpoint(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	w := client.New(at.URL, at.Token, client.Options{Name: "example"}).Wire()
	repl, err := w.Repl(ctx, "") // a new machine
	if err != nil {
		fmt.Println(err)
		return
	}
	_, result, err := repl.Exec(ctx, wire.Instruction{Code: "print('hello')\n1 + 1"}, func(line wire.Chunk) error {
		fmt.Println(line.Stream, line.Data)
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*result.Value)
	if err := repl.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	// Output:
	// stdout hello
	// 2
}

// Where a connection breaks, nothing is lost, and nothing is sent twice on its own.
func ExampleUnknownError() {
	ctx := context.Background()
	local, err := connect.Daemon(ctx, connect.Options{Name: "example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer local.Close()
	w := local.Wire()
	name, err := w.New(ctx, wire.NewMachine{})
	if err != nil {
		fmt.Println(err)
		return
	}
	repl, err := w.Repl(ctx, name)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer repl.Close()
	seq, result, err := repl.Exec(ctx, wire.Instruction{Code: "'charged'"}, func(wire.Chunk) error { return nil })
	if lost, ok := errors.AsType[*client.UnknownError](err); ok {
		fmt.Println("it may run, as instruction", lost.Seq, lost.Exists) // a person, or other code on the machine, has to look
		return
	}
	if err != nil && seq >= 0 { // it was taken: its result waits there
		result, err = w.Result(ctx, name, seq)
	}
	if err != nil {
		fmt.Println("it does not run:", err)
		return
	}
	fmt.Println(*result.Value, repl.Missed())
	// Output: 'charged' 0
}
