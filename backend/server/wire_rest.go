package server

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/forevervm/desktop/backend/access"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/wire"
)

func (s *Server) wireWhoami(w http.ResponseWriter, r *http.Request) error {
	account := s.config.Account
	if c := callerOf(r); c.Person != "" {
		account = c.Name
	}
	return writeJSON(w, http.StatusOK, wire.Whoami{Account: account})
}

func (s *Server) wireNew(w http.ResponseWriter, r *http.Request) error {
	var body wire.NewMachine
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	made, err := s.machinesOf(r).Create(r.Context(), machine.CreateOptions{Tags: body.Tags, MemoryMB: body.MemoryMB, Client: clientOf(r)})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wire.NewMachineResponse{MachineName: made.Name})
}

// wireList answers POST with tags, and GET without a body.
func (s *Server) wireList(w http.ResponseWriter, r *http.Request) error {
	var body wire.ListMachines
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	found, err := s.machinesOf(r).List(r.Context(), machine.Filter{Tags: body.Tags, Limit: -1})
	if err != nil {
		return err
	}
	answer := wire.ListMachinesResponse{Machines: make([]wire.Machine, 0, len(found.Items))}
	for _, m := range found.Items {
		answer.Machines = append(answer.Machines, wire.Machine{
			Name: m.Name, CreatedAt: m.CreatedAt, Running: m.State.InMemory(), ExpiresAt: m.ExpiresAt, Tags: m.Tags,
			Pending: m.RunningSeq != nil || m.Queued > 0,
		})
	}
	return writeJSON(w, http.StatusOK, answer)
}

func (s *Server) wireExec(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	var body wire.Exec
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	opts, err := executeOptions(body.Instruction, clientOf(r))
	if err != nil {
		return err
	}
	opts.Interrupt = body.Interrupt
	in, interrupted, err := m.Execute(r.Context(), opts)
	if err != nil {
		return unlessInBin(m, callerOf(r), err)
	}
	return writeJSON(w, http.StatusOK, wire.ExecResponse{InstructionSeq: in.Seq, Interrupted: interrupted, Machine: r.PathValue("name")})
}

// inBin is the wire's answer about a machine in the bin: there is none, and how there would be.
func inBin(name string, caller access.Caller) error {
	if caller.Person != "" {
		return &failure{http.StatusNotFound, "MachineNotFound", "The machine " + name + " is in the bin. The administrator of this ForeverVM can restore it."}
	}
	return &failure{http.StatusNotFound, "MachineNotFound", "The machine " + name + " is in the bin. To use it again, restore it: `forevervm machine restore " + name + "`, or in the window."}
}

// unlessInBin is the error of a call, or that its machine is in the bin, where this is why it
// failed.
func unlessInBin(m machine.Handle, caller access.Caller, err error) error {
	if errors.Is(err, machine.ErrConflict) && m.Machine().State == machine.Deleted {
		return inBin(m.Name(), caller)
	}
	return err
}

// wireResult waits for an instruction's end, as long as the client does.
func (s *Server) wireResult(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	seq, err := pathInt(r, "seq")
	if err != nil {
		return err
	}
	in, err := m.Wait(r.Context(), seq)
	if err != nil {
		return err
	}
	figure, err := lastFigure(r.Context(), m, in)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wire.ExecResultResponse{
		InstructionID: seq, InstructionSeq: seq, Result: execResult(in, figure),
	})
}

// wireStreamResult sends output as it comes, then the result, and ends.
func (s *Server) wireStreamResult(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	seq, err := pathInt(r, "seq")
	if err != nil {
		return err
	}
	if _, err := m.Instruction(r.Context(), seq); err != nil {
		return err
	}
	out := newLines(w)
	if err := out.flush(); err != nil { // that the instruction is there is told before it says anything
		return err
	}
	return relay(r.Context(), m, seq, relayTo{
		send: func(m wire.FromServer) error {
			line, err := wire.Encode(m)
			if err != nil {
				return err
			}
			return out.add(append(wire.ASCII(line), '\n'))
		},
		together: func(write func() error) error {
			if err := write(); err != nil {
				return err
			}
			return out.flush()
		},
	})
}

// wireSignup tells programs that want an account that none is needed here.
func (s *Server) wireSignup(http.ResponseWriter, *http.Request) error {
	return &failure{
		http.StatusBadRequest, "NoAccountsHere",
		"This is ForeverVM on your own computer, which needs no account. `forevervm token` prints the token to use.",
	}
}

// executeOptions is an instruction of the wire as the domain takes it.
func executeOptions(in wire.Instruction, client machine.Client) (machine.ExecuteOptions, error) {
	seconds := float64(wire.DefaultTimeoutSeconds)
	if in.TimeoutSeconds != nil {
		seconds = *in.TimeoutSeconds
	}
	timeout, err := limit(seconds)
	if err != nil {
		return machine.ExecuteOptions{}, err
	}
	if timeout == 0 {
		return machine.ExecuteOptions{}, invalid("timeout_seconds must be more than 0.")
	}
	return machine.ExecuteOptions{Code: in.Code, Timeout: timeout, Client: client}, nil
}

// limit is a number of seconds as a duration; 0 stays 0. More than a year is a year.
func limit(seconds float64) (time.Duration, error) {
	const year = 365 * 24 * 3600
	if seconds < 0 || math.IsNaN(seconds) {
		return 0, invalid("timeout_seconds must be more than 0.")
	}
	timeout := time.Duration(min(seconds, year) * float64(time.Second))
	if seconds > 0 && timeout == 0 {
		timeout = 1
	}
	return timeout, nil
}

// lastFigure finds the last figure among what a finished instruction has put out.
func lastFigure(ctx context.Context, m machine.Handle, in machine.Instruction) ([]machine.Representation, error) {
	if in.Status != machine.StatusOK {
		return nil, nil
	}
	const page = 100
	for end := in.Items; end > 0; end -= page {
		from := max(0, end-page)
		items, err := m.Items(ctx, in.Seq, from, end-from)
		if err != nil {
			return nil, err
		}
		for i := len(items) - 1; i >= 0; i-- {
			if items[i].Kind == machine.ItemClear {
				return nil, nil
			}
			if isFigure(items[i]) {
				return items[i].Representations, nil
			}
		}
	}
	return nil, nil
}
