// Package remote is the engine of a place: a Linux that is reached by a pipe of bytes, such as
// another computer by ssh, or a virtual machine. An agent at its other end has the machines of that
// place and their checkpoints. PROTOCOL.md beside this says what goes over the pipe.
//
// The agent starts a machine's supervisor and passes its link through. So acknowledgements, files,
// limits and the network work as for machines on this computer, and code in a machine reaches the
// network through this computer alone. What an agent says is not believed: what comes is bounded
// and checked (answer.go), and links are as untrusted as any supervisor's.
//
// A pipe that breaks is to the machines what the daemon's death is: their supervisors save them and
// end. To the daemon such a sandbox ended as machine.EndedApart. Engine.Reclaim tells what became
// of it once the place is there again.
package remote

import (
	"bytes"
	"io"
	"time"

	"github.com/hashicorp/yamux"
)

// Greeting is the line with which an agent begins. What comes before it is not an agent's: a
// shell's start files may print something.
const Greeting = "ForeverVM agent\n"

// mostNoise is how many bytes may come before an agent's greeting.
const mostNoise = 64 << 10

// Protocol is the version of what goes over the pipe. Both ends must have the same.
const Protocol = 1

const (
	// pulse is how often each end asks whether the other one is still there.
	pulse = 5 * time.Second
	// silence is how long it may take to answer before the pipe counts as broken. Both together are
	// less than a machine may take to accept an order: a pipe that breaks is no machine that hangs.
	silence = 15 * time.Second
	// greetingPatience bounds how long a new agent may take to say hello. It may have to wait for
	// an earlier one of this daemon's, which saves its machines.
	greetingPatience = 2 * time.Minute
	// quickly bounds what an agent may take for one request, and slowly where it reads or writes
	// whole states.
	quickly = 2 * time.Minute
	slowly  = 30 * time.Minute
	// leavePatience bounds how long an agent that is to end tries to say so.
	leavePatience = time.Second
	// killPatience is how long it may take to end a supervisor before its link is cut.
	killPatience = 15 * time.Second
	// savePatience is how long a supervisor may go on without its link: it saves its machine.
	savePatience = 5 * time.Minute
	// dialPatience bounds how long it may take to open a pipe.
	dialPatience = 30 * time.Second
	// dialAgain is how long a place is left alone that could not be reached.
	dialAgain = 5 * time.Second
)

// awaitGreeting reads up to the greeting and not a byte more. With an error, it returns what came
// in place of a greeting.
func awaitGreeting(r io.Reader) (seen []byte, err error) {
	for b := make([]byte, 1); len(seen) < mostNoise; {
		if _, err := io.ReadFull(r, b); err != nil {
			return seen, err
		}
		if seen = append(seen, b[0]); bytes.HasSuffix(seen, []byte(Greeting)) {
			return nil, nil
		}
	}
	return seen, errLies
}

// mux is what both ends give to yamux.
func mux() *yamux.Config {
	c := yamux.DefaultConfig()
	c.EnableKeepAlive = true
	c.KeepAliveInterval = pulse
	c.ConnectionWriteTimeout = silence
	c.AcceptBacklog = 256
	c.StreamOpenTimeout = 0
	c.StreamCloseTimeout = time.Minute
	c.MaxStreamWindowSize = 4 << 20 // so much is under way on a long line
	c.LogOutput = io.Discard
	return c
}
