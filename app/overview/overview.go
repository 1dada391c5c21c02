// Package overview follows the daemon and keeps what a person sees at a glance: whether anything
// runs, what, and whether something needs them. It also says what is worth telling them when they
// look elsewhere.
package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/forevervm/desktop/app/words"
	"github.com/forevervm/desktop/backend/api"
)

// Mood is the state of the whole, as an icon shows it.
type Mood int

// The moods, the most urgent last.
const (
	Idle      Mood = iota // nothing runs
	Running               // code runs in a machine
	Attention             // something needs the person; View.Concern says what
)

// View is what there is to see now.
type View struct {
	Mood    Mood
	Concern string    // a sentence, where the mood is Attention
	Running []Machine // those in which code runs, by their labels
	News    []News    // machines with steps that the person has not seen, where none runs
	Awake   []string  // names of the machines in memory
	Paused  []string  // names of those that a person put to sleep while code ran
	Apps    []string  // names of the AI apps that are connected
}

// Machine is one that is shown.
type Machine struct {
	Name  string
	Label string // what people call it: its title, or its name; one short line
}

// News is a machine with steps that the person has not seen.
type News struct {
	Machine
	Steps  int
	Failed bool // the last one ended with an error
}

// Notice is something worth telling the person.
type Notice struct {
	Title, Body string
	Machine     string // the name of the one that it is about; "" for none
	Apps        bool   // it is about the AI apps
}

// AppsAddress is where the page shows the AI apps.
const AppsAddress = "#/apps"

// MachineAddress is where the page shows a machine, by its name; "" for none.
func MachineAddress(name string) string {
	if name == "" {
		return ""
	}
	return "#/machine/" + name
}

// Address is where the page shows what the notice is about; "" for nowhere.
func (n Notice) Address() string {
	if n.Apps {
		return AppsAddress
	}
	return MachineAddress(n.Machine)
}

// long is how long an instruction must have run for its end to be worth a word.
const long = time.Minute

// known is what the daemon has told so far. It is no more than a fold over its events.
type known struct {
	words    *words.Words
	since    time.Time // what ended earlier is no news
	status   api.Status
	machines map[string]api.Machine // by ID, without the bin
	apps     []api.App
	told     map[string]string // the notice of each machine that the person was told or that is old, by ID
	asking   []question        // what machines wait to hear, in the order in which they asked
	wanted   []api.Permission  // what AI apps wait for, oldest first
	ended    map[string]int    // the last instruction of each machine whose end was told, by the machine's name
	unseen   map[string]int    // how many steps of each machine the person has not seen, by ID, as the page says
	unread   string            // a sentence about a machine that the person has not looked after since
	trouble  string            // why the daemon cannot be followed; "" where it is
}

// question is a machine's, whether it may reach a host.
type question struct {
	id            int64 // the connection's
	machine, host string
}

// load takes over the whole state. What machines asked before is not in it: the page asks for that.
func (k *known) load(status api.Status, machines []api.Machine, apps []api.App, wanted []api.Permission) {
	k.status, k.apps, k.trouble, k.asking, k.wanted = status, apps, "", nil, wanted
	k.machines, k.told, k.ended = map[string]api.Machine{}, map[string]string{}, map[string]int{}
	for _, m := range machines {
		k.machines[m.ID], k.told[m.ID] = m, m.Notice
	}
}

// machine takes over a machine's new state. A machine that was taken out of memory, say for what it
// took of it, or could not come back, carries a sentence that says why; that is news.
func (k *known) machine(m api.Machine) (news []Notice) {
	if m.State == "deleted" {
		k.purged(m.ID)
		return nil
	}
	k.machines[m.ID] = m
	switch told := k.told[m.ID]; {
	case m.Notice == "":
		delete(k.told, m.ID)
	case m.State == "swapped" && m.Notice != told:
		k.told[m.ID] = m.Notice
		k.unread = label(m) + ": " + m.Notice
		news = append(news, Notice{Title: label(m), Body: m.Notice, Machine: m.Name})
	}
	return news
}

func (k *known) purged(id string) {
	delete(k.machines, id)
	delete(k.told, id)
}

// connection takes over how a connection of a machine stands. One that waits for the person's word
// is news, once for each host.
func (k *known) connection(machine string, c api.Connection) (news []Notice) {
	waits := c.State == "asking"
	if waits == slices.ContainsFunc(k.asking, func(q question) bool { return q.id == c.ID }) {
		return nil
	}
	if !waits {
		k.asking = slices.DeleteFunc(k.asking, func(q question) bool { return q.id == c.ID })
		return nil
	}
	if !slices.ContainsFunc(k.asking, func(q question) bool { return q.machine == machine && q.host == c.Host }) {
		news = []Notice{{Title: fmt.Sprintf(k.words.Asks, k.called(machine)), Body: fmt.Sprintf(k.words.WantsToReach, c.Host), Machine: machine}}
	}
	k.asking = append(k.asking, question{c.ID, machine, c.Host})
	return news
}

// permission takes over how what an AI app asks for stands. That it asks is news.
func (k *known) permission(p api.Permission) (news []Notice) {
	known := slices.ContainsFunc(k.wanted, func(other api.Permission) bool { return other.ID == p.ID })
	switch {
	case p.State != "waiting":
		k.wanted = slices.DeleteFunc(k.wanted, func(other api.Permission) bool { return other.ID == p.ID })
	case !known:
		k.wanted = append(k.wanted, p)
		news = []Notice{{Title: fmt.Sprintf(k.words.Asks, p.App), Body: k.wants(p) + " " + k.words.ToAnswer, Machine: p.Machine}}
	}
	return news
}

// wants says what an AI app asks for.
func (k *known) wants(p api.Permission) string {
	if p.Kind == "rewind" {
		return fmt.Sprintf(k.words.WantsBack, p.App, k.called(p.Machine))
	}
	return fmt.Sprintf(k.words.WantsMemory, p.App)
}

// called is what people call the machine of that name.
func (k *known) called(name string) string {
	for _, m := range k.machines {
		if m.Name == name {
			return label(m)
		}
	}
	return name
}

// instruction says whether an instruction's new state is news: that it ended, after long.
func (k *known) instruction(in api.Instruction) (news []Notice) {
	ended := in.Status == "ok" || in.Status == "error"
	if !ended || in.RolledBack || in.EndedAt == nil || in.EndedAt.Before(k.since) || time.Duration(in.RuntimeMS)*time.Millisecond < long {
		return nil
	}
	if last, told := k.ended[in.Machine]; told && in.Seq <= last {
		return nil
	}
	k.ended[in.Machine] = in.Seq
	title := k.called(in.Machine)
	body := k.words.Finished
	if in.Status == "error" {
		body = k.words.Failed
	}
	if in.Summary != "" {
		title += ": " + in.Summary
	}
	took := k.words.Duration(time.Duration(in.RuntimeMS) * time.Millisecond)
	return []Notice{{Title: title, Body: fmt.Sprintf(body, took), Machine: in.Machine}}
}

// heard takes over the states of the AI apps. It is news when one connects for the first time, and
// when one is disconnected: some apps overwrite their settings with what they have in memory.
func (k *known) heard(apps []api.App) (news []Notice) {
	for _, app := range apps {
		was := func(fits func(api.App) bool) bool {
			return slices.ContainsFunc(k.apps, func(before api.App) bool { return before.ID == app.ID && fits(before) })
		}
		if app.State == "wiped" && was(func(before api.App) bool { return before.State != "wiped" }) {
			title := fmt.Sprintf(k.words.Disconnected, app.Name)
			k.unread = title
			news = append(news, Notice{Title: title, Body: k.words.Overwrote, Apps: true})
		}
		if app.Seen != nil && !was(func(before api.App) bool { return before.Seen != nil }) {
			news = append(news, Notice{Title: fmt.Sprintf(k.words.Connected, app.Name), Body: k.words.CanRun})
		}
	}
	k.apps = apps
	return news
}

// hosted is the engine of machines that are the service's to move out of memory.
const hosted = "hosted"

// view is what there is to see.
func (k *known) view() View {
	var v View
	for _, m := range k.machines {
		is := Machine{Name: m.Name, Label: label(m)}
		switch steps := k.unseen[m.ID]; {
		case m.State == "running":
			v.Running = append(v.Running, is)
		case steps > 0:
			v.News = append(v.News, News{Machine: is, Steps: steps, Failed: m.Failed})
		}
		if m.State != "swapped" && m.Engine != hosted {
			v.Awake = append(v.Awake, m.Name)
		}
		if m.Paused && m.State == "swapped" {
			v.Paused = append(v.Paused, m.Name)
		}
	}
	slices.SortFunc(v.Running, byLabel)
	slices.SortFunc(v.News, func(a, b News) int { return byLabel(a.Machine, b.Machine) })
	slices.Sort(v.Awake)
	slices.Sort(v.Paused)
	for _, app := range k.apps {
		if app.State == "connected" || app.State == "extension" {
			v.Apps = append(v.Apps, app.Name)
		}
	}
	v.Concern = k.concern()
	switch {
	case v.Concern != "":
		v.Mood = Attention
	case len(v.Running) > 0:
		v.Mood = Running
	}
	return v
}

func byLabel(a, b Machine) int {
	return cmp.Or(cmp.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)), cmp.Compare(a.Name, b.Name))
}

func (k *known) concern() string {
	if k.trouble != "" {
		return k.trouble
	}
	if len(k.asking) > 0 {
		return fmt.Sprintf(k.words.Wants, k.called(k.asking[0].machine), k.asking[0].host)
	}
	if len(k.wanted) > 0 {
		return k.wants(k.wanted[0])
	}
	for _, engine := range k.status.Engines {
		if engine.Default && len(engine.Problems) > 0 {
			return engine.Problems[0].What
		}
	}
	if len(k.status.Warnings) > 0 {
		return k.status.Warnings[0]
	}
	return k.unread
}

// maxLabel is how many characters of a title are shown where there is one line for it.
const maxLabel = 48

// label is what people call a machine. Titles come from AI apps: one line, no characters that
// control or reverse what follows.
func label(m api.Machine) string {
	clean := strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return ' '
		}
		return r
	}, m.Title)), " ")
	if clean == "" {
		return m.Name
	}
	if letters := []rune(clean); len(letters) > maxLabel {
		return strings.TrimSpace(string(letters[:maxLabel-1])) + "…"
	}
	return clean
}
