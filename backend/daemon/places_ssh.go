package daemon

import (
	"context"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/engine/remote"
	"github.com/forevervm/desktop/backend/engine/remote/ssh"
	"github.com/forevervm/desktop/backend/machine"
)

// overSSH is the kind of places that are reached by ssh, and the beginning of their engines' names.
const overSSH = "ssh"

// tellEvery is how often it is told how far something has come.
const tellEvery = 100 * time.Millisecond

// sshPlace is a place on a computer that is reached by ssh, as an engine that tells what is done
// with it.
type sshPlace struct {
	*remote.Place
	news  // that it is being set up
	host  ssh.Host
	parts string // folder of what a place is made of
	owner string // see remote.Config
}

func (p *places) openSSH(host ssh.Host) *sshPlace {
	name := overSSH + ":" + string(host)
	return &sshPlace{
		host: host, parts: p.parts, owner: p.owner,
		Place: remote.New(remote.Config{Name: name, Owner: p.owner, Dialer: host.Dialer(p.log.With("place", name))}),
	}
}

func (p *sshPlace) about() api.Place {
	return api.Place{Name: p.Name(), Kind: overSSH, Address: string(p.host)}
}

// Start brings a machine into memory there, once the place is set up.
func (p *sshPlace) Start(ctx context.Context, spec machine.StartSpec) (machine.Sandbox, error) {
	if p.isBusy() {
		return nil, &machine.Error{Kind: machine.ErrUnavailable, Message: "The place of this machine is being set up. Try again when that is done."}
	}
	return p.Place.Start(ctx, spec)
}

// Check says what is wrong with the place.
func (p *sshPlace) Check(ctx context.Context) []machine.Problem {
	if p.isBusy() {
		return []machine.Problem{{What: "This place is being set up.", Do: "Wait until it is done."}}
	}
	return p.Place.Check(ctx)
}

func (p *sshPlace) look(ctx context.Context) (api.PlaceFacts, error) {
	_, facts, err := p.survey(ctx)
	return facts, err
}

// survey looks, and also returns the programs to put there.
func (p *sshPlace) survey(ctx context.Context) (*ssh.Parts, api.PlaceFacts, error) {
	parts, err := ssh.OwnParts(p.parts)
	if err != nil {
		return nil, api.PlaceFacts{}, err
	}
	found, err := p.host.Look(ctx)
	if err == nil {
		err = p.host.Fits(found, parts)
	}
	if err != nil {
		return nil, api.PlaceFacts{}, err
	}
	return parts, api.PlaceFacts{
		System: found.System, Processor: found.Processor, Folder: found.Home + "/" + ssh.Folder, FreeBytes: max(0, found.Free),
		SizeBytes: parts.Size, Installed: found.Installed == parts.Digest,
	}, nil
}

// begin says that it is being set up, when no agent may be there yet.
func (p *sshPlace) begin() { p.tell(&machine.Preparation{What: "Preparing " + string(p.host)}) }

// setUp puts the programs there, unless they are there, and runs a first machine.
func (p *sshPlace) setUp(ctx context.Context) error {
	defer p.tell(nil)
	parts, facts, err := p.survey(ctx)
	if err != nil {
		return err
	}
	if !facts.Installed {
		what := "Copying ForeverVM to " + string(p.host)
		p.tell(&machine.Preparation{What: what, Total: parts.Size})
		told := time.Now()
		p.Reset() // an agent must not find new programs beside it; machines there are saved
		err := p.host.Install(ctx, parts, func(sent int64) {
			if time.Since(told) > tellEvery {
				told = time.Now()
				p.tell(&machine.Preparation{What: what, Done: sent, Total: parts.Size})
			}
		})
		if err != nil {
			return err
		}
	}
	p.tell(&machine.Preparation{What: "Starting a first machine at " + string(p.host)})
	return runFirst(ctx, p.Place)
}

func (p *sshPlace) leave(ctx context.Context) error {
	if err := p.host.Leave(ctx, p.owner); err != nil {
		return &machine.Error{
			Kind:    machine.ErrUnavailable,
			Message: "The place is forgotten. The folder " + ssh.Folder + " stays there, as it could not be removed: " + err.Error(), Cause: err,
		}
	}
	return nil
}
