// Package daemon puts the parts together into the one process that owns a user's machines: lock,
// log, store, engines, domain, HTTP, and the file that tells front ends where it is. It alone names
// the implementations.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/adrg/xdg"
	"golang.org/x/net/netutil"

	"github.com/forevervm/desktop/backend/access"
	"github.com/forevervm/desktop/backend/aiapps"
	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/audit"
	"github.com/forevervm/desktop/backend/backup"
	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/credentials"
	"github.com/forevervm/desktop/backend/egress"
	"github.com/forevervm/desktop/backend/exchange"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/hosted"
	"github.com/forevervm/desktop/backend/machine/service"
	"github.com/forevervm/desktop/backend/mcpserver"
	"github.com/forevervm/desktop/backend/opener"
	"github.com/forevervm/desktop/backend/parcel"
	"github.com/forevervm/desktop/backend/secrets"
	"github.com/forevervm/desktop/backend/server"
	"github.com/forevervm/desktop/backend/shareable"
	"github.com/forevervm/desktop/backend/store"
	"github.com/forevervm/desktop/backend/version"
	"github.com/forevervm/desktop/frontend"
)

// enoughMemory is how much this process may have before Go gives back what it no longer needs more
// eagerly: someone's gigabyte of output must not stay ours. The machines' memory is not in it. It
// is no limit to what is in use.
const enoughMemory = 1 << 30

// saveWithin is how long the machines may take to be saved when the daemon ends. What is not saved
// then is saved by the machines' supervisors, which outlive it.
const saveWithin = 45 * time.Second

// Config says how the daemon is to run; zero fields mean the default.
type Config struct {
	Home   string // overrides where the files lie, as home.Resolve takes it
	Listen string // "host:port", "host" or ":port"; the loopback address and the port of last time where not given
	// TLSCert and TLSKey are PEM files. With them, Listen is where people of a team reach the
	// daemon, and this computer's programs do as ever.
	TLSCert, TLSKey string
	Bin             string // the folder with supervisor, runsc and image; the program's own where not given
	// Ready is told the daemon's address once it answers, and that for people of a team; "" for
	// none.
	Ready func(url, team string)
	// Warn is told sentences that the person who started the daemon must read.
	Warn func(sentence string)
}

// Run is the daemon. It returns nil once ctx has ended, or someone has asked it to, and every
// machine is saved. There is one daemon for a home: while another runs, the error is ErrRuns.
func Run(ctx context.Context, config Config) (err error) {
	dirs, err := home.Resolve(config.Home)
	if err != nil {
		return err
	}
	if err := dirs.Make(); err != nil {
		return err
	}
	unlock, err := lock(ctx, dirs)
	if err != nil {
		return err
	}
	defer unlock()
	moves := &moves{now: api.Move{State: api.MoveNone}}
	for again := true; again; {
		dirs, again, err = once(ctx, config, dirs, moves)
		config.Ready = nil // it was told, and the address is the same
	}
	return err
}

// once runs the parts until the daemon is to end, or until its files are to move, and moves them.
// It returns where they are then, and whether the daemon is to go on there.
func once(ctx context.Context, config Config, dirs home.Dirs, moves *moves) (after home.Dirs, again bool, err error) {
	log, closeLog, err := openLog(dirs)
	if err != nil {
		return dirs, false, err
	}
	defer closeLog()
	log.Info("the daemon starts", "version", version.Version, "pid", os.Getpid(), "home", dirs.Data)
	defer func() {
		if err != nil {
			log.Error("the daemon ends", "err", err)
			return
		}
		log.Info("the daemon ends")
	}()
	if err := leaveNoCore(); err != nil {
		log.Warn("a crash may leave a copy of the memory", "err", err)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(enoughMemory))
	}
	if err := dirs.RemoveLeft(); err != nil {
		log.Warn("an old copy of the files takes room", "err", err)
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	d := &daemon{config: config, dirs: dirs, log: log, stop: stop, moves: moves}
	if err := d.run(running); err != nil {
		return dirs, false, err
	}
	to := moves.wanted()
	if to == "" {
		return dirs, false, nil
	}
	return d.relocate(ctx, to)
}

// daemon is what run's steps share.
type daemon struct {
	config Config
	dirs   home.Dirs
	log    *slog.Logger
	stop   func() // ends the daemon
	notes  notes
	moves  *moves
	// secrets are what machines may use and not see.
	secrets *secrets.Store
	// places are where machines can be beside this computer.
	places *places
	// unsaved is why machines could not be saved at the end.
	unsaved error
}

// shareable are the rules for folders that machines may see.
func (d *daemon) shareable() shareable.Rules {
	rules := shareable.Rules{Home: xdg.Home, Own: []string{d.dirs.Config, d.dirs.Data, d.dirs.Run}}
	if plan := backupPlan(d.dirs); plan.Folder != "" {
		rules.Own = append(rules.Own, plan.Folder) // a copy holds all that its machine held
	}
	if program, err := os.Executable(); err == nil {
		rules.Programs = filepath.Dir(program)
	}
	return rules
}

// run brings the parts up in order, waits, and takes them down in the opposite order.
func (d *daemon) run(ctx context.Context) error {
	keys, token, err := d.keys(ctx)
	if err != nil {
		return err
	}
	people, err := access.OpenPeople(d.dirs.PeopleFile(), func(data []byte) error { return home.WritePrivate(d.dirs.PeopleFile(), data) })
	if err != nil {
		return err
	}
	accounts := credentials.Open(d.dirs) // before anything is started, which would get a token of the environment
	records, err := d.openRecords(ctx)
	if err != nil {
		return err
	}
	defer d.close("the database", records.Close)
	policies := d.settings()
	engines, checkpoints, err := d.engines()
	if err != nil {
		return err
	}
	for name, engine := range engines {
		defer d.close("the engine "+name, engine.Close)
	}
	executable, err := d.executable()
	if err != nil {
		return err
	}
	if d.places, err = openPlaces(d.dirs, filepath.Dir(executable), checkpoints, d.log); err != nil {
		return err
	}
	defer d.close("the places", d.places.close)
	places := d.places.all()
	cluster, err := d.places.openOwnCluster()
	if err != nil {
		return err
	}
	if cluster != nil {
		defer d.close("the cluster", cluster.Close)
		places = append(places, cluster)
	}
	others := slices.AppendSeq(slices.Clone(places), maps.Values(engines))
	own, err := d.openOwn(filepath.Dir(executable), checkpoints)
	if err != nil {
		return err
	}
	near := ""
	if own != nil {
		defer d.close("the place of this computer", own.Close)
		places, near = append(places, own), own.Name()
	}
	record, err := audit.Open(d.dirs.RecordFile())
	if err != nil {
		return err
	}
	d.secrets = secrets.Open(d.dirs.SecretsFile(), credentials.OpenVault(d.dirs, "secrets"))
	network := egress.New(egress.Config{Logger: d.log, Packages: d.dirs.PackagesDir(), Secrets: d.secrets})
	defer d.close("the network", network.Close)
	folder, err := exchange.New(d.dirs.Folder(), d.dirs.ExchangeDir(), d.log)
	if err != nil {
		return err
	}
	shares, err := exchange.NewShares(filepath.Join(d.dirs.Data, "shares"), d.log)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(d.dirs.Folder(), 0o700); err != nil {
		d.warn("The folder for files that machines are to see cannot be made: " + err.Error() + ".")
	}
	machines, err := service.New(ctx, service.Config{
		Network: &recordedNetwork{Network: network, record: record, people: people, log: d.log}, Approve: policies.approve,
		Engines: engines, DefaultEngine: ofSystem(), Checkpoints: checkpoints, Places: places, Near: near, Store: records, Warnings: d.notes.all, Settings: d.policies(),
		OutputDir: filepath.Join(d.dirs.Data, "output"), Logger: d.log,
		FreeMemory: freeMemory, TotalMemory: totalMemory(), FreeDisk: func() (int64, error) { return freeFor(d.dirs) },
		UsedDisk: func() (int64, error) {
			used, err := usedBy(d.dirs)
			return used.all, err
		},
		Exchange: folder, Shareable: func(path string, writable bool) (string, error) { return d.shareable().Check(path, writable) },
		ShareWatch: shares,
	})
	if err != nil {
		return err
	}
	defer d.prepare(ctx, others, own, checkpoints, machines)()
	defer d.close("the machines", func() error {
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveWithin)
		defer cancel()
		d.unsaved = machines.Close(patience)
		return d.unsaved
	})
	policies.machines, d.places.machines = machines, machines
	parcels, err := parcel.Open(d.dirs, version.Version, func() (int64, error) { return freeDisk(d.dirs.Data) })
	if err != nil {
		return err
	}
	all := hosted.New(ctx, hosted.Config{
		Local: machines, Credentials: accounts, Folder: filepath.Join(d.dirs.Data, "hosted"), Token: token, Preferred: policies.hosted,
		Open:    func(ctx context.Context, path string) (hosted.Records, error) { return store.Open(ctx, path) },
		Version: version.Version, Logger: d.log,
	})
	defer d.close("the hosted machines", all.Close)
	listener, address, err := d.listen()
	if err != nil {
		return err
	}
	team, err := d.listenForTeam()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	return d.serve(ctx, records, all, policies, parcels, d.backups(machines, parcels), storage{machines, network, d.dirs}, listener, team, address, keys, people, record, token)
}

// serve answers requests until the daemon is to end.
func (d *daemon) serve(ctx context.Context, records *store.Store, machines *hosted.Machines, policies *settings, parcels *parcel.Desk, backups *backup.Keeper, space storage, listener, team net.Listener, address address, keys *access.Keys, people *access.People, record *audit.Log, token string) error {

	inside := listenInProcess()
	mcp := d.mcp(inside, token)
	updates := d.updates(ctx)
	httpServer := server.New(server.Config{
		Machines: machines, Hosted: machines, Apps: d.apps(), Token: token, Keys: keys, People: people, Record: record, Secrets: d.secrets, Places: d.places, Account: "local", Version: version.Version, Home: d.dirs.Data, Folder: d.dirs.Folder(), MCP: mcp.Handler(),
		Page: frontend.Dist, URL: address.url, Host: address.host, Logger: d.log, Shutdown: d.stop,
		Settings: policies, Updates: updates, Backups: backupsOf{backups}, Storage: space, Moves: d, Parcels: parcels, Open: opener.Open,
	})
	// Written before the first request is answered (the port is open already): anyone who is
	// answered finds this daemon in the file, not its predecessor at the same port.
	local, socket := d.listenLocally()
	self := home.Daemon{
		URL: address.url, Socket: socket, PID: os.Getpid(), Version: version.Version, StartedAt: time.Now().UTC(), Team: team != nil,
	}
	err := d.dirs.WriteDaemon(self)
	served := make(chan error, 1)
	serving, end := context.WithCancel(ctx)
	defer end()
	listeners := []net.Listener{netutil.LimitListener(listener, mostConnections()), inside}
	if local != nil {
		listeners = append(listeners, local)
	}
	go func() { served <- httpServer.Serve(serving, team, listeners...) }()
	var watches sync.WaitGroup
	watches.Go(func() { watchSystem(serving, d.log, machines.CheckpointAll) })
	watches.Go(func() { updates.watch(serving) })
	watches.Go(func() { giveBack(serving) })
	watches.Go(func() { d.backUp(serving, records) })
	watches.Go(func() { backups.Watch(serving) })

	if err == nil {
		forTeam := ""
		if team != nil {
			forTeam = "https://" + team.Addr().String()
		}
		d.log.Info("the daemon answers", "url", address.url, "team", forTeam)
		if d.config.Ready != nil {
			d.config.Ready(address.url, forTeam)
		}
		select {
		case <-ctx.Done():
		case serveErr := <-served:
			served <- nil
			if ctx.Err() == nil {
				err = fmt.Errorf("ForeverVM no longer listens on %s: %w", address.url, errors.Join(serveErr, errStoppedServing))
			}
		}
	}
	// No one shall find a daemon that is about to go.
	if removeErr := d.dirs.RemoveDaemon(self); removeErr != nil {
		d.log.Warn("the discovery file is left behind", "err", removeErr)
	}
	mcp.Close()
	end()
	if serveErr := <-served; serveErr != nil {
		d.log.Warn("the listener ended badly", "err", serveErr)
	}
	watches.Wait()
	return err
}

var errStoppedServing = errors.New("the listener is gone")

// apps are the AI apps of this computer, or nil where nothing is known of them, say because this
// user has no home folder.
func (d *daemon) apps() server.Apps {
	executable, err := d.executable()
	if err == nil {
		var apps *aiapps.Manager
		if apps, err = aiapps.Here(d.dirs, executable); err == nil {
			return apps
		}
	}
	d.log.Warn("AI apps cannot be connected from the page", "err", err)
	return nil
}

// overHTTP is what AI apps are called together that come over HTTP. Each shows a token of its own
// first.
const overHTTP = "AI apps over HTTP"

// keys are the tokens that open the daemon, and the owner's among them.
func (d *daemon) keys(ctx context.Context) (*access.Keys, string, error) {
	owner, err := d.dirs.EnsureOwnerToken(ctx)
	if err != nil {
		return nil, "", err
	}
	programs, err := d.dirs.EnsureToken(ctx)
	if err != nil {
		return nil, "", err
	}
	file := d.dirs.TokensFile()
	keys, err := access.Open(file, owner, programs, func(data []byte) error { return home.WritePrivate(file, data) })
	return keys, owner, err
}

// mcp is the MCP side, which reaches the machines by the API, as every other client does, but over
// memory.
func (d *daemon) mcp(inside *inProcess, token string) *mcpserver.Server {
	transport := &http.Transport{DialContext: inside.Dial}
	machines := client.New(insideURL, access.ForApp(token, overHTTP), client.Options{
		Name: "MCP", Version: version.Version, HTTPClient: &http.Client{Transport: transport},
	})
	return mcpserver.New(func(name, clientVersion string) mcpserver.Machines { return machines.As(name, clientVersion) },
		mcpserver.Options{Version: version.Version, Page: frontend.Dist, Logger: d.log})
}

// close ends a part; what goes wrong with that is for the log.
func (d *daemon) close(what string, end func() error) {
	started := time.Now()
	if err := end(); err != nil {
		d.log.Error("a part ended badly", "part", what, "err", err)
	}
	d.log.Debug("ended", "part", what, "took", time.Since(started))
}

func (d *daemon) warn(sentence string) {
	d.log.Warn(sentence)
	if d.config.Warn != nil {
		d.config.Warn(sentence)
	}
}
