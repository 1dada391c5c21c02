package aiapps

import (
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v4/process"
)

// Program is one that runs.
type Program struct {
	PID  int
	Name string // as the system lists it
	Path string // "" where that cannot be told
}

// is says whether a program is the one that an App's Processes name.
func (p Program) is(known string) bool {
	folder, name, ok := strings.Cut(known, "/")
	if !ok {
		return p.Name == known
	}
	folders := strings.FieldsFunc(p.Path, func(r rune) bool { return r == '/' || r == '\\' })
	return strings.EqualFold(p.Name, name) && slices.ContainsFunc(folders, func(one string) bool {
		matches, _ := path.Match(folder, one) // the table's patterns are well formed
		return matches
	})
}

// running are those of some programs that are an app's.
func (c Computer) running(app App, programs []Program) []Program {
	return slices.DeleteFunc(slices.Clone(programs), func(p Program) bool {
		return !slices.ContainsFunc(app.Processes[c.System], p.is)
	})
}

// programsOf lists the user's programs that run. One that was started with another home folder is
// not among them: it has other settings.
func programsOf(home string) func() ([]Program, error) {
	return func() ([]Program, error) {
		all, err := process.Processes()
		if err != nil {
			return nil, err
		}
		names := map[string]bool{}
		for _, app := range Apps {
			for _, known := range slices.Concat(app.Processes[linux], app.Processes[darwin], app.Processes[windows]) {
				names[strings.ToLower(path.Base(known))] = true
			}
		}
		var programs []Program
		for _, one := range all {
			name, err := one.Name()
			if err != nil || !names[strings.ToLower(name)] || !runs(int(one.Pid)) || !belongs(one, home) {
				continue // it may have ended
			}
			where, _ := one.Exe()
			programs = append(programs, Program{PID: int(one.Pid), Name: name, Path: where})
		}
		return programs, nil
	}
}

// belongs says whether a program is this user's, with this home; it counts as such where the system
// does not say.
func belongs(one *process.Process, home string) bool {
	if users, err := one.Uids(); err == nil && len(users) > 0 && int(users[0]) != os.Getuid() {
		return false
	}
	if runtime.GOOS == windows {
		return true // where HOME says nothing
	}
	variables, err := one.Environ()
	if err != nil {
		return true
	}
	at := slices.IndexFunc(variables, func(variable string) bool { return strings.HasPrefix(variable, "HOME=") })
	return at < 0 || variables[at] == "HOME="+home
}
