//go:build system

package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/connect/connecttest"
)

// Colours that are looked for on the screen: of the tray's icon, of the mark that something runs,
// and of what one machine puts out.
var (
	iconColour    = color.NRGBA{0x0f, 0x76, 0x6e, 0xff}
	runningColour = color.NRGBA{0x4a, 0xde, 0x80, 0xff}
	pictureColour = color.NRGBA{0x12, 0xc9, 0x5f, 0xff}
)

// desktop is a screen with a window manager, a panel and a session bus, and a home for ForeverVM
// and the person.
type desktop struct {
	t     *testing.T
	env   []string
	home  string // ForeverVM's
	user  string // the person's
	bus   *dbus.Conn
	panel *exec.Cmd
	told  *notifications
}

func newDesktop(t *testing.T) *desktop {
	t.Helper()
	d := &desktop{t: t, home: connecttest.Home(t), user: t.TempDir()}
	for _, variable := range os.Environ() {
		key, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(key, "XDG_") && !strings.HasPrefix(key, "FOREVERVM_") && key != "HOME" && key != "WAYLAND_DISPLAY" && key != "DBUS_SESSION_BUS_ADDRESS" {
			d.env = append(d.env, variable)
		}
	}
	d.env = append(d.env, "HOME="+d.user, "LC_ALL=C.UTF-8", "LANGUAGE=", "XDG_RUNTIME_DIR="+t.TempDir(), "FOREVERVM_HOME="+d.home, "XFCE_PANEL_MIGRATE_DEFAULT=1", "NO_AT_BRIDGE=1")
	_, said := d.start("Xvfb", "-displayfd", "1", "-screen", "0", "1280x900x24", "-nolisten", "tcp")
	d.env = append(d.env, "DISPLAY=:"+said())
	_, said = d.start("dbus-daemon", "--session", "--nofork", "--print-address")
	address := said()
	d.env = append(d.env, "DBUS_SESSION_BUS_ADDRESS="+address)
	bus, err := dbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	d.bus, d.told = bus, &notifications{bus: bus}
	if err := bus.Export(d.told, "/org/freedesktop/Notifications", "org.freedesktop.Notifications"); err != nil {
		t.Fatal(err)
	}
	if reply, err := bus.RequestName("org.freedesktop.Notifications", dbus.NameFlagDoNotQueue); err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("%v, %v", reply, err)
	}
	d.start("openbox")
	d.panel, _ = d.start("xfce4-panel", "--disable-wm-check")
	d.eventually("the panel shows icons", func() bool {
		return d.property("org.kde.StatusNotifierWatcher", "/StatusNotifierWatcher", "org.kde.StatusNotifierWatcher.IsStatusNotifierHostRegistered") == true
	})
	return d
}

// start starts a program of this desktop, which ends with the test; said returns the next line that
// it prints.
func (d *desktop) start(name string, args ...string) (cmd *exec.Cmd, said func() string) {
	d.t.Helper()
	cmd = exec.Command(name, args...)
	cmd.Env = d.env
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewReader(out)
	return cmd, func() string {
		line, err := lines.ReadString('\n')
		if err != nil {
			d.t.Fatalf("%s: %v", name, err)
		}
		return strings.TrimSpace(line)
	}
}

// run runs a program of this desktop and returns what it prints, or "" where it fails.
func (d *desktop) run(name string, args ...string) string {
	ctx, cancel := context.WithTimeout(d.t.Context(), 10*time.Second) // xdotool may wait forever for a window that has gone, or gets no focus
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = d.env
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func (d *desktop) eventually(what string, ok func() bool) {
	d.t.Helper()
	d.t.Logf("%s: %s", time.Now().Format("15:04:05.000"), what)
	defer func() {
		if d.t.Failed() {
			d.picture("failed")
		}
	}()
	connecttest.Eventually(d.t, what, ok)
}

func (d *desktop) property(name string, path dbus.ObjectPath, property string) any {
	value, err := d.bus.Object(name, path).GetProperty(property)
	if err != nil {
		return nil
	}
	return value.Value()
}

// screen is what is shown now.
func (d *desktop) screen() image.Image {
	cmd := exec.Command("import", "-silent", "-window", "root", "png:-")
	cmd.Env = d.env
	out, err := cmd.Output()
	if err != nil {
		return image.NewNRGBA(image.Rect(0, 0, 1, 1))
	}
	picture, err := png.Decode(bytes.NewReader(out))
	if err != nil {
		d.t.Fatal(err)
	}
	return picture
}

// picture keeps what is shown as a file, where FOREVERVM_PICTURES names a folder.
func (d *desktop) picture(name string) {
	folder := os.Getenv("FOREVERVM_PICTURES")
	if folder == "" {
		return
	}
	var out bytes.Buffer
	if err := png.Encode(&out, d.screen()); err != nil {
		d.t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), out.Bytes(), 0o600); err != nil {
		d.t.Error(err)
	}
}

// panelHeight is that of the panel at the top of the screen; windows lie below.
const panelHeight = 26

// trayLeft is where the tray begins on the panel; a taskbar is at its left.
const trayLeft = 1100

// pixels are those of a colour, on the panel's tray or below the panel: how many, and the middle of
// them.
func (d *desktop) pixels(of color.NRGBA, onPanel bool) (count, x, y int) {
	picture := d.screen()
	from, to, left := panelHeight, picture.Bounds().Dy(), 0
	if onPanel {
		from, to, left = 0, panelHeight, trayLeft
	}
	for py := from; py < to; py++ {
		for px := left; px < picture.Bounds().Dx(); px++ {
			if color.NRGBAModel.Convert(picture.At(px, py)) == of {
				count, x, y = count+1, x+px, y+py
			}
		}
	}
	if count > 0 {
		x, y = x/count, y/count
	}
	return count, x, y
}

// differing is in how many pixels, right where the tray is, two pictures of the screen differ.
func differing(a, b image.Image) (count int) {
	for y := panelHeight; y < min(a.Bounds().Dy(), b.Bounds().Dy()); y++ {
		for x := trayLeft - 200; x < min(a.Bounds().Dx(), b.Bounds().Dx()); x++ {
			if color.NRGBAModel.Convert(a.At(x, y)) != color.NRGBAModel.Convert(b.At(x, y)) {
				count++
			}
		}
	}
	return count
}

// clickIcon presses a button of the mouse on the tray's icon.
func (d *desktop) clickIcon(button int) {
	d.t.Helper()
	var x, y int
	d.eventually("the icon is on the panel", func() bool {
		var count int
		count, x, y = d.pixels(iconColour, true)
		return count > 20
	})
	d.click(x, y, button)
}

func (d *desktop) click(x, y, button int) {
	d.run("xdotool", "mousemove", strconv.Itoa(x), strconv.Itoa(y), "click", strconv.Itoa(button))
}

// windows are the visible ones with a title that matches.
func (d *desktop) windows(title string) []string {
	return strings.Fields(d.run("xdotool", "search", "--onlyvisible", "--name", title))
}

const mainWindow = "^ForeverVM$"

func (d *desktop) waitFor(title string, shown bool) {
	d.t.Helper()
	d.eventually(fmt.Sprintf("a window with the title %s is shown: %v", title, shown), func() bool { return (len(d.windows(title)) > 0) == shown })
}

// closeWindow has the window manager close the window, and does so again where that had no effect,
// as a person would: one that is just being shown may miss the key.
func (d *desktop) closeWindow(effect string, ok func() bool) {
	d.t.Helper()
	d.waitFor(mainWindow, true)
	var tried time.Time
	d.eventually(effect, func() bool {
		if ok() {
			return true
		}
		if shown := d.windows(mainWindow); len(shown) > 0 && time.Since(tried) > 5*time.Second {
			tried = time.Now()
			d.run("xdotool", "windowactivate", shown[0], "key", "--clearmodifiers", "alt+F4")
		}
		return false
	})
}

// hideWindow closes the window where there is an icon that shows it again.
func (d *desktop) hideWindow() {
	d.t.Helper()
	d.closeWindow("the window is closed", func() bool { return len(d.windows(mainWindow)) == 0 })
}

// item is a line of the tray's menu.
type item struct {
	id         int32
	label      string
	enabled    bool
	checked    bool
	properties map[string]dbus.Variant
}

// menu is what the tray's menu shows, as the panel gets it.
func (d *desktop) menu() []item {
	var names []string
	if err := d.bus.BusObject().Call("org.freedesktop.DBus.ListNames", 0).Store(&names); err != nil {
		d.t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "org.kde.StatusNotifierItem-") {
			continue
		}
		var revision uint32
		var root struct {
			ID         int32
			Properties map[string]dbus.Variant
			Children   []dbus.Variant
		}
		call := d.bus.Object(name, "/StatusNotifierItem/menu").Call("com.canonical.dbusmenu.GetLayout", 0, int32(0), int32(-1), []string{})
		if call.Store(&revision, &root) != nil {
			continue
		}
		var items []item
		for _, child := range root.Children {
			fields := child.Value().([]any)
			properties := fields[1].(map[string]dbus.Variant)
			text, _ := properties["label"].Value().(string)
			if visible, said := properties["visible"].Value().(bool); said && !visible || text == "" {
				continue
			}
			enabled, _ := properties["enabled"].Value().(bool)
			state, _ := properties["toggle-state"].Value().(int32)
			items = append(items, item{fields[0].(int32), text, enabled, state == 1, properties})
		}
		return items
	}
	return nil
}

// line waits for a line of the menu that begins with a text.
func (d *desktop) line(text string, ok func(item) bool) (found item) {
	d.t.Helper()
	d.eventually("the menu's line "+text, func() bool {
		for _, one := range d.menu() {
			if strings.HasPrefix(one.label, text) && (ok == nil || ok(one)) {
				found = one
				return true
			}
		}
		return false
	})
	return found
}

// choose clicks a line as the panel does it.
func (d *desktop) choose(text string) {
	d.t.Helper()
	one := d.line(text, func(one item) bool { return one.enabled })
	var names []string
	if err := d.bus.BusObject().Call("org.freedesktop.DBus.ListNames", 0).Store(&names); err != nil {
		d.t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, "org.kde.StatusNotifierItem-") {
			call := d.bus.Object(name, "/StatusNotifierItem/menu").Call("com.canonical.dbusmenu.Event", 0, one.id, "clicked", dbus.MakeVariant(""), uint32(0))
			if call.Err != nil {
				d.t.Fatal(call.Err)
			}
		}
	}
}

// notifications stands in for the desktop's service that shows them.
type notifications struct {
	bus   *dbus.Conn
	mu    sync.Mutex
	shown []string // title and body
}

func (n *notifications) GetCapabilities() ([]string, *dbus.Error) {
	return []string{"body", "body-markup", "actions"}, nil
}

func (n *notifications) Notify(_ string, _ uint32, _, title, body string, _ []string, _ map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.shown = append(n.shown, title+"\n"+body)
	return uint32(len(n.shown)), nil
}

// find returns the number of the notification that begins with a text, or 0, and how many there
// are.
func (n *notifications) find(text string) (id uint32, count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, one := range n.shown {
		if strings.HasPrefix(one, text) {
			id, count = uint32(i+1), count+1
		}
	}
	return id, count
}

func (d *desktop) notified(text string) (id uint32) {
	d.t.Helper()
	d.eventually("a notification: "+text, func() bool { id, _ = d.told.find(text); return id > 0 })
	return id
}

func (d *desktop) program() string { return connecttest.Program(d.t, "forevervm-desktop") }

// ended waits for the end of a program and returns its status.
func ended(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return exit.ExitCode()
		}
		return 0
	case <-time.After(connecttest.Patience):
		_ = cmd.Process.Kill()
		<-done // who cleans up waits for it, too
		t.Fatal("the program does not end")
		return -1
	}
}

func (d *desktop) again(args ...string) int {
	d.t.Helper()
	cmd := exec.Command(d.program(), args...)
	cmd.Env = d.env
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	return ended(d.t, cmd)
}

func (d *desktop) daemon() *client.Client {
	d.t.Helper()
	var c *client.Client
	d.eventually("the daemon answers", func() bool {
		var err error
		c, err = connect.Running(d.t.Context(), connect.Options{Home: d.home, Name: "test"})
		return err == nil && c != nil
	})
	d.t.Cleanup(c.Close)
	return c
}

func execute(t *testing.T, c *client.Client, title, code string) api.Machine {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), connecttest.Patience)
	defer cancel()
	m, err := c.CreateMachine(ctx, api.NewMachine{Title: title})
	if err == nil {
		_, _, err = c.Execute(ctx, m.Name, api.Execute{Code: code})
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTheTrayAndTheWindow(t *testing.T) {
	t.Setenv(connect.BaseURLVariable, "")
	d := newDesktop(t)
	window, _ := d.start(d.program(), "--hidden")
	d.line("Nothing is running", nil)
	d.clickIcon(1)
	d.waitFor(mainWindow, true)

	// Closing leaves the icon, and says so the first time.
	d.picture("window")
	d.hideWindow()
	d.notified("ForeverVM is still here")
	if status := d.again(); status != 0 {
		t.Errorf("the second start ends with status %d", status)
	}
	d.waitFor(mainWindow, true)
	d.hideWindow()
	if _, count := d.told.find("ForeverVM is still here"); count != 1 {
		t.Errorf("it was said %d times that it is still here", count)
	}

	// What runs is in the menu, by name, and the icon shows that something does.
	c := d.daemon()
	drawn := execute(t, c, "A picture", `from PIL import Image; Image.new("RGB", (400, 300), (0x12, 0xc9, 0x5f))`)
	if _, err := c.Wait(t.Context(), drawn.Name, 0); err != nil {
		t.Fatal(err)
	}
	busy := execute(t, c, "Sales_figures & more", "import time; time.sleep(3600)")
	d.line("1 machine is running", nil)
	d.line("Sales__figures & more", nil)
	d.line("A picture: 1 new step", nil)
	d.eventually("the icon shows that something runs", func() bool { count, _, _ := d.pixels(runningColour, true); return count > 4 })

	// A link opens a machine, in the window that is there.
	if status := d.again("forevervm://machine/" + drawn.Name); status != 0 {
		t.Errorf("the link's start ends with status %d", status)
	}
	d.waitFor(mainWindow, true)
	d.eventually("the machine of the link is shown", func() bool { count, _, _ := d.pixels(pictureColour, false); return count > 10_000 })
	d.picture("machine")
	d.eventually("the step that was seen is not new any more", func() bool {
		return !slices.ContainsFunc(d.menu(), func(one item) bool { return strings.HasPrefix(one.label, "A picture") })
	})

	// What the page saves lies in the person's folder for downloads.
	page := d.screen()
	d.eventually("the page is still", func() bool {
		before := page
		page = d.screen()
		return differing(before, page) == 0
	})
	d.run("xdotool", "key", "ctrl+k")
	d.eventually("the palette is open", func() bool { return differing(page, d.screen()) > 5_000 })
	d.run("xdotool", "type", "Jupyter")
	d.run("xdotool", "key", "Return")
	d.eventually("the notebook is saved", func() bool {
		b, err := os.ReadFile(filepath.Join(d.user, "Downloads", drawn.Name+".ipynb"))
		return err == nil && json.Valid(b)
	})
	d.picture("saved")
	d.choose("Sales__figures")
	d.eventually("the machine that was chosen is shown", func() bool { count, _, _ := d.pixels(pictureColour, false); return count == 0 })

	// Start at login: off until asked for, and the desktop's own switch counts.
	if d.line("Start at login", nil).checked {
		t.Error("it starts at login, unasked")
	}
	d.choose("Start at login")
	d.line("Start at login", func(one item) bool { return one.checked })
	entries, err := filepath.Glob(filepath.Join(d.user, ".config", "autostart", "*.desktop"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%q, %v", entries, err)
	}
	text, err := os.ReadFile(entries[0])
	if err != nil || !strings.Contains(string(text), "--hidden") {
		t.Errorf("%s, %v", text, err)
	}
	if err := os.WriteFile(entries[0], append(text, "Hidden=true\n"...), 0o600); err != nil {
		t.Fatal(err)
	}

	// An app that is heard from for the first time is news.
	if err := c.As("Claude Desktop", "1.0").Hello(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	id := d.notified("Claude Desktop is connected")
	d.line("Start at login", func(one item) bool { return !one.checked })
	d.hideWindow()
	if err := d.bus.Emit("/org/freedesktop/Notifications", "org.freedesktop.Notifications.ActionInvoked", id, "default"); err != nil {
		t.Fatal(err)
	}
	d.waitFor(mainWindow, true)

	// A daemon that is killed comes back, with what ran in it.
	killed, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if process, err := os.FindProcess(killed.PID); err != nil || process.Kill() != nil {
		t.Fatal("the daemon cannot be killed")
	}
	d.eventually("another daemon runs", func() bool {
		now, err := connect.Running(t.Context(), connect.Options{Home: d.home, Name: "test"})
		if err != nil || now == nil {
			return false
		}
		defer now.Close()
		status, err := now.Status(t.Context())
		return err == nil && status.PID != killed.PID
	})
	c = d.daemon()
	d.eventually("what ran goes on", func() bool {
		m, err := c.Machine(t.Context(), busy.Name)
		return err == nil && m.State == "running"
	})
	d.line("1 machine is running", nil)

	// The menu is opened with the mouse. Quitting asks, as something runs.
	before := d.screen()
	d.clickIcon(3)
	d.eventually("the menu is open", func() bool { return differing(before, d.screen()) > 5_000 })
	d.picture("menu")
	d.run("xdotool", "key", "Escape")
	d.choose("Quit")
	d.waitFor("^Quit ForeverVM", true)
	d.picture("quit")
	d.run("xdotool", "key", "Escape")
	d.waitFor("^Quit ForeverVM", false)

	d.choose("Pause all machines")
	d.eventually("all machines are saved", func() bool {
		m, err := c.Machine(t.Context(), busy.Name)
		return err == nil && m.State == "swapped"
	})
	d.line("1 machine is paused", nil)
	d.choose("Resume 1 machine")
	d.line("1 machine is running", nil)

	// Where nobody shows icons, closing quits; what runs goes on.
	if err := d.panel.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	d.eventually("the panel is gone", func() bool {
		return d.property("org.kde.StatusNotifierWatcher", "/StatusNotifierWatcher", "org.kde.StatusNotifierWatcher.IsStatusNotifierHostRegistered") != true
	})
	d.closeWindow("it is asked whether to quit", func() bool { return len(d.windows("^Quit ForeverVM")) > 0 })
	d.run("xdotool", "key", "alt+y")
	if status := ended(t, window); status != 0 {
		t.Errorf("it ended with status %d", status)
	}
	if m, err := c.Machine(t.Context(), busy.Name); err != nil || m.State != "running" {
		t.Errorf("after the window's end: %+v, %v", m, err)
	}
}

// Without a session bus there is a window all the same; closing it ends the program.
func TestAWindowWithoutABus(t *testing.T) {
	t.Setenv(connect.BaseURLVariable, "")
	d := &desktop{t: t, home: connecttest.Home(t), user: t.TempDir()}
	d.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.user, "FOREVERVM_HOME=" + d.home, "NO_AT_BRIDGE=1"}
	_, said := d.start("Xvfb", "-displayfd", "1", "-screen", "0", "1280x900x24", "-nolisten", "tcp")
	d.env = append(d.env, "DISPLAY=:"+said())
	d.start("openbox")
	window, _ := d.start(d.program())
	d.waitFor(mainWindow, true)
	d.closeWindow("the window is gone", func() bool { return len(d.windows(mainWindow)) == 0 })
	if status := ended(t, window); status != 0 {
		t.Errorf("it ended with status %d", status)
	}
}
