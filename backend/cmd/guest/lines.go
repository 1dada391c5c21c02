//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/engine/remote/vm/control"
)

// guest is this virtual machine.
type guest struct {
	boot string

	agent

	state  sync.Mutex
	heard  time.Time // the last order; by the clock that nobody sets
	ready  bool
	failed string
	ending bool
}

func (g *guest) succeed() { g.state.Lock(); defer g.state.Unlock(); g.ready = true }

func (g *guest) fail(why string) { g.state.Lock(); defer g.state.Unlock(); g.failed = why }

// lookEvery is how often this virtual machine looks after itself.
const lookEvery = 20 * time.Second

// watch gives back memory, and ends this virtual machine when no order has come for long.
func (g *guest) watch() {
	patience := alone()
	for {
		g.state.Lock()
		left := patience - time.Since(g.heard)
		g.state.Unlock()
		if left <= 0 {
			say("nobody has asked for anything for %v: the power goes", patience)
			g.end()
			left = lookEvery
		}
		giveBack()
		time.Sleep(min(left, lookEvery))
	}
}

// end saves the machines and turns the power off.
func (g *guest) end() {
	g.state.Lock()
	again := g.ending
	g.ending, g.ready = true, false
	g.state.Unlock()
	if again {
		return
	}
	g.finish()
	unix.Sync()
	if err := unix.Unmount(dataFolder, 0); err != nil && !errors.Is(err, unix.EINVAL) {
		say("the data disk is left as it is: %v", err)
	}
	off()
}

// listen takes orders on every line that there is: serial ports, as QEMU has them, and vsock, as
// Apple's hypervisor has it.
func (g *guest) listen() {
	orders, agents := port(control.OrdersName), port(control.AgentName)
	if orders != "" && agents != "" {
		go g.serial(orders, func() (int, error) {
			return unix.Open(agents, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		})
	}
	if err := g.vsock(); err != nil && orders == "" {
		say("no line to the computer is there: %v", err)
	}
}

// port is the device of the serial port of that name; "" where there is none.
func port(name string) string {
	names, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
	for _, path := range names {
		if b, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(b)) == name {
			return "/dev/" + filepath.Base(filepath.Dir(path))
		}
	}
	return ""
}

// serial takes the orders of one computer after the other on a serial port.
func (g *guest) serial(path string, agent func() (int, error)) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
		if err != nil {
			say("the serial port cannot be used: %v", err)
			return
		}
		g.serve(file, agent)
		file.Close()
		time.Sleep(tryAgain) // nobody is at the other end, and a read does not wait for somebody
	}
}

// vsock takes orders by vsock, from any number of connections.
func (g *guest) vsock() error {
	orders, err := listenVsock(control.OrdersPort)
	if err != nil {
		return err
	}
	agents, err := listenVsock(control.AgentPort)
	if err != nil {
		return err
	}
	agent := func() (int, error) { return newestVsock(agents) }
	go func() {
		for {
			fd, err := acceptVsock(orders)
			if err != nil {
				say("vsock fails: %v", err)
				return
			}
			go func() {
				file := os.NewFile(uintptr(fd), "vsock")
				defer file.Close()
				g.serve(file, agent)
			}()
		}
	}()
	return nil
}

func listenVsock(port uint32) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	err = unix.Bind(fd, &unix.SockaddrVM{CID: unix.VMADDR_CID_ANY, Port: port})
	if err == nil {
		err = unix.Listen(fd, 16)
	}
	if err != nil {
		return 0, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// acceptVsock waits for the computer. What others, of whom there are none, would want is refused.
func acceptVsock(listener int) (int, error) {
	for {
		fd, from, err := unix.Accept4(listener, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if vm, ok := from.(*unix.SockaddrVM); ok && vm.CID == unix.VMADDR_CID_HOST {
			return fd, nil
		}
		unix.Close(fd)
	}
}

// newestVsock returns the newest connection that the computer has made. An earlier one it has given
// up.
func newestVsock(listener int) (int, error) {
	newest := -1
	for patience := markPatience; ; patience = 0 {
		ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, int(patience.Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR):
		case n == 0 && newest < 0:
			return 0, errors.New("the computer has not connected")
		case n == 0:
			return newest, nil
		default:
			fd, err := acceptVsock(listener)
			if err != nil {
				return 0, err
			}
			if newest >= 0 {
				unix.Close(newest)
			}
			newest = fd
		}
	}
}

// serve does what is ordered on a line until that ends. agent opens the other stream.
func (g *guest) serve(line io.ReadWriter, agent func() (int, error)) {
	var saying sync.Mutex
	report := func(r control.Report) {
		saying.Lock()
		defer saying.Unlock()
		if err := control.Write(line, r); err != nil {
			say("the computer is not told of order %d: %v", r.Number, err) // it asks again
		}
	}
	for orders := control.NewReader[control.Order](line); ; {
		order, err := orders.Next()
		if err != nil {
			return
		}
		setClock(order.Now)
		g.state.Lock()
		g.heard = time.Now()
		r := control.Report{Number: order.Number, Boot: g.boot, Ready: g.ready, Failed: g.failed}
		g.state.Unlock()
		switch order.Type {
		case control.Tell:
			report(r)
		case control.Agent:
			go func() {
				if r.Failed == "" && !r.Ready {
					r.Failed = "The virtual machine is not ready, or is just ending."
				}
				if r.Failed == "" {
					err := g.start(agent, order.Mark, func() { report(control.Report{Boot: g.boot, Ended: order.Mark}) })
					if err != nil {
						r.Failed = fmt.Sprintf("The virtual machine cannot start its agent: %v.", err)
					}
				}
				report(r)
			}()
		case control.Stop:
			report(r)
			go g.end()
		}
	}
}

// setClock sets the clock to the computer's, unless they agree to a second.
func setClock(now int64) {
	theirs := time.Unix(0, now)
	if now <= 0 || time.Since(theirs).Abs() < time.Second {
		return
	}
	ts := unix.NsecToTimespec(now)
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &ts); err != nil {
		say("the clock cannot be set: %v", err)
	}
}
