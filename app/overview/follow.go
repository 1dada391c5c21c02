package overview

import (
	"context"
	"slices"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/forevervm/desktop/app/words"
	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
	// connectedWithin is how late a change of an app's settings, which the daemon does not tell of,
	// may be seen.
	connectedWithin = time.Minute
)

// Follower keeps an overview of one daemon. Its methods may be called from any goroutine.
type Follower struct {
	daemon *client.Client
	show   func(View)
	tell   func(Notice)

	mu    sync.Mutex // guards what follows, and orders what is shown
	known known
}

// New makes a follower, which does nothing before Follow. show is called with each new view, and
// tell with what is worth telling the person, never two calls at a time; they must not call the
// follower.
func New(daemon *client.Client, show func(View), tell func(Notice)) *Follower {
	return &Follower{daemon: daemon, show: show, tell: tell, known: known{words: words.In("en"), since: time.Now()}}
}

// Follow follows the daemon until ctx ends. Following it keeps it alive: a daemon that is not there
// is started, again and again, ever more slowly where that does not help.
func (f *Follower) Follow(ctx context.Context) {
	var apps sync.WaitGroup
	defer apps.Wait()
	apps.Go(func() { f.lookAfterApps(ctx) })
	for retry := firstRetry; ; retry = min(2*retry, lastRetry) {
		// Of a position that no daemon knows the first event is a reset.
		err := f.daemon.Events(ctx, "none", func(e api.Event) error {
			retry = firstRetry
			return f.heed(ctx, e)
		}, "machine", "purged", "instruction", "status", "client")
		if ctx.Err() != nil {
			return
		}
		f.Trouble(err.Error())
		select {
		case <-ctx.Done():
			return
		case <-time.After(retry):
		}
	}
}

// Trouble shows why the daemon cannot be followed, until it can be again.
func (f *Follower) Trouble(why string) {
	f.change(func(k *known) []Notice {
		k.trouble = Sentence(why)
		return nil
	})
}

// Speak sets the words of what is told from now on.
func (f *Follower) Speak(w *words.Words) {
	f.change(func(k *known) []Notice {
		k.words = w
		return nil
	})
}

// Seen notes that the person looks at ForeverVM.
func (f *Follower) Seen() {
	f.change(func(k *known) []Notice {
		k.unread = ""
		return nil
	})
}

// Unseen notes how many steps of each machine the person has not seen, by the machine's ID.
func (f *Follower) Unseen(steps map[string]int) {
	f.change(func(k *known) []Notice {
		k.unseen = steps
		return nil
	})
}

// View is the newest view.
func (f *Follower) View() View {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known.view()
}

func (f *Follower) heed(ctx context.Context, e api.Event) error {
	switch e.Type {
	case "reset":
		return f.load(ctx)
	case "machine":
		if e.Machine != nil {
			f.change(func(k *known) []Notice { return k.machine(*e.Machine) })
		}
	case "purged":
		f.change(func(k *known) []Notice {
			for id, m := range k.machines {
				if m.Name == e.Name {
					k.purged(id)
				}
			}
			return nil
		})
	case "instruction":
		if e.Instruction != nil {
			f.change(func(k *known) []Notice { return k.instruction(*e.Instruction) })
		}
	case "connection":
		if e.Connection != nil {
			f.change(func(k *known) []Notice { return k.connection(e.Name, *e.Connection) })
		}
	case "permission":
		if e.Permission != nil {
			f.change(func(k *known) []Notice { return k.permission(*e.Permission) })
		}
	case "status":
		if e.Status != nil {
			f.change(func(k *known) []Notice {
				k.status = *e.Status
				return nil
			})
		}
	case "client":
		if e.Client != nil && f.new(e.Client.Name) {
			f.lookAtApps(ctx)
		}
	}
	return nil
}

// new says whether a program that says that it is there may be an app that was not heard from
// before.
func (f *Follower) new(program string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !slices.ContainsFunc(f.known.apps, func(app api.App) bool { return app.Name == program && app.Seen != nil })
}

// load loads everything again: what happens meanwhile comes as events.
func (f *Follower) load(ctx context.Context) error {
	status, err := f.daemon.Status(ctx)
	if err != nil {
		return err
	}
	var machines []api.Machine
	for m, err := range f.daemon.AllMachines(ctx, client.MachineFilter{}) {
		if err != nil {
			return err
		}
		machines = append(machines, m)
	}
	apps, err := f.daemon.Apps(ctx)
	if err != nil {
		apps = nil // a daemon that knows no apps, as its log says, still runs machines
	}
	wanted, err := f.daemon.Permissions(ctx)
	if err != nil {
		return err
	}
	f.change(func(k *known) []Notice {
		k.load(status, machines, apps, wanted)
		return nil
	})
	return nil
}

func (f *Follower) lookAtApps(ctx context.Context) {
	if apps, err := f.daemon.Apps(ctx); err == nil {
		f.change(func(k *known) []Notice { return k.heard(apps) })
	}
}

func (f *Follower) lookAfterApps(ctx context.Context) {
	tick := time.NewTicker(connectedWithin)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f.mu.Lock()
			there := f.known.machines != nil && f.known.trouble == ""
			f.mu.Unlock()
			if there {
				f.lookAtApps(ctx)
			}
		}
	}
}

// change changes what is known, shows the view that comes of it, and tells the news.
func (f *Follower) change(how func(*known) []Notice) {
	f.mu.Lock()
	defer f.mu.Unlock()
	news := how(&f.known)
	f.show(f.known.view())
	for _, notice := range news {
		f.tell(notice)
	}
}

// Sentence writes the text of an error as a sentence: Go's begin small and end without a full stop.
func Sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return text
	}
	text = string(unicode.ToUpper(first)) + text[size:]
	if last, _ := utf8.DecodeLastRuneInString(text); unicode.IsPunct(last) && last != ')' && last != '`' {
		return text
	}
	return text + "."
}
