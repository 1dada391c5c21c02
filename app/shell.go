package app

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/adrg/xdg"
	"github.com/wailsapp/wails/v2/pkg/logger"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/options/linux"
	"github.com/wailsapp/wails/v2/pkg/options/mac"

	"github.com/forevervm/desktop/app/autostart"
	"github.com/forevervm/desktop/app/deeplink"
	"github.com/forevervm/desktop/app/downloads"
	"github.com/forevervm/desktop/app/icon"
	"github.com/forevervm/desktop/app/overview"
	"github.com/forevervm/desktop/app/tray"
	"github.com/forevervm/desktop/app/words"
	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/home"
)

// trayWithin is how long after a login the system's tray may come up; without one the window is
// shown.
const trayWithin = 20 * time.Second

// shell is the window, the tray and what they are about.
type shell struct {
	dirs     home.Dirs
	daemon   *client.Client
	follower *overview.Follower
	window   *window
	tray     *trayIcon
	notifier notifier
	login    autostart.Entry
	wish     wish

	work    sync.WaitGroup
	news    chan overview.Notice
	changed chan struct{} // full when the tray is to be brought up to date
	leaving atomic.Bool   // the person wants to quit, or the system does
	closing sync.Mutex    // held while a close or quit is under way, as it may ask the person
	words   atomic.Pointer[words.Words]

	remembering sync.Mutex // held while what is remembered changes
}

func newShell(dirs home.Dirs, w wish) (*shell, error) {
	s := &shell{
		dirs: dirs, wish: w, window: &window{hidden: w.Hidden},
		news: make(chan overview.Notice, 16), changed: make(chan struct{}, 1),
	}
	var err error
	s.daemon, err = connect.Lazy(connect.Options{Name: "window", Notice: func(sentence string) {
		fmt.Fprintln(os.Stderr, sentence)
		s.follower.Trouble(sentence)
	}})
	if err != nil {
		return nil, err
	}
	s.follower = overview.New(s.daemon, func(overview.View) { s.refresh() }, s.say)
	s.use(recall(dirs).Language)
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s.login = autostart.Entry{ID: dirs.LoginEntry(), Name: name, Command: []string{self, hiddenFlag}}
	if dirs.Root != "" && goruntime.GOOS == "linux" {
		s.login.Command = append([]string{"/usr/bin/env", home.Variable + "=" + dirs.Root}, s.login.Command...)
	}
	s.tray = newTray(trayActions{
		open: s.raise, openMachine: s.openMachine, opened: s.refresh, pause: s.pause, resume: s.resume, apps: func() { s.goTo(overview.AppsAddress) },
		atLogin: s.toggleLogin, quit: s.quit,
	})
	return s, nil
}

// run shows the window until the person quits.
func (s *shell) run(page fs.FS) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer s.work.Wait()
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	s.work.Go(func() {
		select {
		case <-ctx.Done():
		case <-signals: // nobody is there to ask
			s.leave()
		}
	})
	if s.wish.Machine != "" {
		s.window.goTo(overview.MachineAddress(s.wish.Machine))
	}
	saving := downloads.Into(xdg.UserDirs.Download)
	defer saving.Close() //nolint:errcheck // hidden parts of files stay behind at worst
	return s.window.show(&options.App{
		Title:         name,
		Width:         1200,
		Height:        800,
		MinWidth:      480,
		MinHeight:     400,
		StartHidden:   true,
		OnStartup:     func(window context.Context) { s.started(ctx, window) },
		OnDomReady:    s.window.pageReady,
		OnBeforeClose: func(context.Context) (prevent bool) { return s.beforeClose() },
		AssetServer:   &assetserver.Options{Assets: page},
		Bind:          []any{&Bridge{daemon: s.daemon, window: s.window, login: s.login, changed: s.refresh, saving: saving, speak: s.speak, unseen: s.follower.Unseen}},
		// On macOS Command-Q and the red button mean different things, and Wails tells them apart
		// only so.
		HideWindowOnClose:        goruntime.GOOS == "darwin",
		SingleInstanceLock:       singleInstance(s.dirs.Instance(), s.obey),
		EnableDefaultContextMenu: true,
		DragAndDrop:              &options.DragAndDrop{DisableWebViewDrop: true},
		LogLevelProduction:       logger.ERROR,
		Linux:                    &linux.Options{ProgramName: program, Icon: icon.PNG(icon.Draw(128, overview.Idle))},
		Mac: &mac.Options{OnUrlOpen: func(link string) {
			if machine, ok := deeplink.Machine(link); ok {
				s.openMachine(machine)
			}
		}},
	})
}

// started begins what goes on beside the window, until ctx ends.
func (s *shell) started(ctx, window context.Context) {
	s.window.started(window)
	stopBlinking()
	s.work.Go(func() { s.follower.Follow(ctx) })
	s.work.Go(func() { s.keepTray(ctx) })
	s.work.Go(func() { s.tellNews(ctx, window) })
	if s.dirs.Root == "" {
		s.work.Go(s.register)
	}
}

// keepTray shows the tray's icon and keeps it up to date.
func (s *shell) keepTray(ctx context.Context) {
	s.tray.start()
	if s.wish.Hidden {
		s.work.Go(func() { s.showWithoutTray(ctx) })
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
			on, err := s.login.On()
			s.tray.show(tray.Of(s.follower.View(), on && err == nil, s.words.Load()))
		}
	}
}

// showWithoutTray shows a window that was started hidden where there is no tray to show it from.
func (s *shell) showWithoutTray(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, trayWithin)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for !s.tray.there() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			if ctx.Err() == context.DeadlineExceeded {
				s.raise()
			}
			return
		}
	}
}

// tellNews shows the system's notifications. A click on one opens what it is about.
func (s *shell) tellNews(ctx, window context.Context) {
	s.notifier.start(window, s.goTo)
	defer s.notifier.close()
	for {
		select {
		case <-ctx.Done():
			return
		case notice := <-s.news:
			_ = s.notifier.send(notice) // where nothing shows notifications, the tray and the page say the same
		}
	}
}

// say has a notification shown, without waiting for it.
func (s *shell) say(notice overview.Notice) {
	select {
	case s.news <- notice:
	default: // so many at once are no news any more
	}
}

// register has the system open addresses of machines with this program.
func (s *shell) register() {
	self, err := os.Executable()
	if err == nil {
		err = deeplink.Register(deeplink.Program{ID: entry, WindowClass: program, Name: name, Path: self, Icon: icon.PNG(icon.Draw(128, overview.Idle))})
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "Links to machines (forevervm://machine/NAME) do not open here: %v\n", err)
	}
}

func (s *shell) refresh() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// obey does what another start of the program was asked for.
func (s *shell) obey(w wish) {
	if w.Machine != "" {
		s.openMachine(w.Machine)
		return
	}
	if !w.Hidden {
		s.raise()
	}
}

func (s *shell) raise() {
	s.window.raise()
	s.follower.Seen()
}

// openMachine shows a machine, or only the window where the name is empty.
func (s *shell) openMachine(name string) {
	s.goTo(overview.MachineAddress(name))
}

// goTo shows one of the page's addresses, or only the window where it is empty.
func (s *shell) goTo(address string) {
	if address != "" {
		s.window.goTo(address)
	}
	s.raise()
}

// pauseWithin is how long saving all machines may take.
const pauseWithin = 5 * time.Minute

// pause takes all machines out of memory. What runs in them goes on when they are woken.
func (s *shell) pause() {
	s.each(s.follower.View().Awake, " is not paused", s.daemon.Swap)
}

// resume wakes the machines that were paused while code ran.
func (s *shell) resume() {
	s.each(s.follower.View().Paused, " is not resumed", s.daemon.Wake)
}

// each does something with machines side by side, and tells the person of those where it fails.
func (s *shell) each(machines []string, failed string, do func(ctx context.Context, name string) (api.Machine, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), pauseWithin)
	defer cancel()
	var all sync.WaitGroup
	for _, machine := range machines {
		all.Go(func() {
			if _, err := do(ctx, machine); err != nil {
				s.say(overview.Notice{Title: machine + failed, Body: sentence(err), Machine: machine})
			}
		})
	}
	all.Wait()
}

func (s *shell) toggleLogin() {
	on, err := s.login.On()
	if err == nil {
		err = s.login.Set(!on)
	}
	if err != nil {
		s.say(overview.Notice{Title: s.words.Load().LoginUnchanged, Body: sentence(err)})
	}
	s.refresh()
}

// beforeClose decides when the person closes the window, and says whether it stays. What is asked
// of them may take long, and the caller may be the thread that would show the question.
func (s *shell) beforeClose() (prevent bool) {
	if s.leaving.Load() {
		return false
	}
	go s.close()
	return true
}

// close hides the window where a tray can show it again, else it quits.
func (s *shell) close() {
	if goruntime.GOOS == "darwin" || !s.tray.there() { // on macOS this is Command-Q
		s.quit()
		return
	}
	if !s.closing.TryLock() {
		return
	}
	defer s.closing.Unlock()
	if !s.leaving.Load() {
		s.sayWhereItIs()
		s.window.hide()
	}
}

// sayWhereItIs tells a person who closes the window for the first time that ForeverVM is still
// there.
func (s *shell) sayWhereItIs() {
	if recall(s.dirs).ToldOfTray {
		return
	}
	w := s.words.Load()
	notice := overview.Notice{Title: w.StillHere, Body: fmt.Sprintf(w.InTheTray, w.Quit)}
	if s.notifier.send(notice) != nil && s.window.tell(notice.Title, notice.Body) != nil {
		return
	}
	s.remember(func(r *remembered) { r.ToldOfTray = true })
}

// speak says everything in a language from now on, and from the next start.
func (s *shell) speak(language string) {
	s.use(language)
	s.remember(func(r *remembered) { r.Language = language })
}

// use says everything in a language from now on.
func (s *shell) use(language string) {
	w := words.In(language)
	s.words.Store(w)
	s.follower.Speak(w)
}

func (s *shell) remember(change func(*remembered)) {
	s.remembering.Lock()
	defer s.remembering.Unlock()
	before := recall(s.dirs)
	now := before
	if change(&now); now == before {
		return
	}
	if err := now.keep(s.dirs); err != nil {
		fmt.Fprintln(os.Stderr, sentence(err))
	}
}

// quit ends the program. Who has machines running is told what becomes of them, and may stay.
func (s *shell) quit() {
	if !s.closing.TryLock() {
		return
	}
	defer s.closing.Unlock()
	if n := len(s.follower.View().Running); n > 0 && !s.leaving.Load() && !s.window.ask(s.words.Load().QuitTitle, tray.Stays(n, s.words.Load())) {
		return
	}
	s.leave()
}

func (s *shell) leave() {
	s.leaving.Store(true)
	s.window.quit()
}
