package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/hosted"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
)

// settings are the policies that the person may set: in the settings file, or with PATCH
// /api/settings, which changes the file and holds at once.
type settings struct {
	dirs      home.Dirs
	machines  *service.Service
	elsewhere atomic.Bool // new machines are made by the hosted service
	mu        sync.Mutex  // held while the file is changed
}

// settings reads where new machines are made; its machines are set when there are any.
func (d *daemon) settings() *settings {
	s := &settings{dirs: d.dirs}
	file, err := d.dirs.ReadSettings()
	if err == nil { // else policies has told of it
		s.elsewhere.Store(isHosted(file[newMachines]))
	}
	return s
}

// newMachines is where machines are made where nobody names an engine.
const newMachines = "new_machines"

// isHosted reads the value of that setting.
func isHosted(value json.RawMessage) bool { return string(value) == `"hosted"` }

// hosted says whether machines are made by the hosted service where nobody names an engine.
func (s *settings) hosted() bool { return s.elsewhere.Load() }

// Settings returns what holds now.
func (s *settings) Settings() api.Settings {
	now := s.machines.Settings()
	where := "local"
	if s.hosted() {
		where = hosted.Name
	}
	plan := backupPlan(s.dirs)
	vmMemory, vmDisk := vmSettings(s.dirs)
	return api.Settings{
		BackupFolder: plan.Folder, BackupKeep: plan.Keep,
		UpdateCheck: updateCheck(s.dirs),
		NewMachines: where,
		VMMemoryMB:  vmMemory, VMDiskMB: vmDisk,
		IdleSwap: duration(now.IdleSwap), CheckpointAfterIdle: duration(now.CheckpointAfterIdle), CheckpointEvery: pace(now.CheckpointEvery), BinRetention: duration(now.BinRetention),
		KeepAllCheckpoints: duration(max(0, now.KeepAll)), KeepHourlyCheckpoints: duration(now.KeepHourly), KeepDailyCheckpoints: duration(now.KeepDaily),
		CheckpointBudgetMB: now.CheckpointBudget >> 20, MaxInMemoryMB: now.MaxInMemory >> 20, MinFreeMemoryPercent: now.MinFreeShare, MinFreeMemoryMB: now.MinFreeMemory >> 20,
		Network: string(now.Network.Mode), NetworkHosts: listOf(now.Network.Hosts), NetworkApproved: listOf(now.Network.Approved),
	}
}

// listOf is a list as JSON has it: none is empty.
func listOf(hosts []string) []string {
	if hosts == nil {
		return []string{}
	}
	return hosts
}

// approve adds a host to those that are approved of for all machines.
func (s *settings) approve(host string) error {
	hosts := s.machines.Settings().Network.Approved
	if slices.Contains(hosts, host) {
		return nil
	}
	value, err := json.Marshal(append(slices.Clone(hosts), host))
	if err == nil {
		_, err = s.ChangeSettings(map[string]json.RawMessage{"network_approved": value})
	}
	return err
}

// ChangeSettings sets some of them, all or nothing; null returns one to its default. The error is
// one of package machine's.
func (s *settings) ChangeSettings(changes map[string]json.RawMessage) (api.Settings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	file, err := s.dirs.ReadSettings()
	if err != nil {
		return api.Settings{}, &machine.Error{Kind: machine.ErrConflict, Message: "Nothing was changed: " + err.Error() + ".", Cause: err}
	}
	for key, value := range changes {
		rule, ok := rules[key]
		switch {
		case !ok:
			return api.Settings{}, invalidSetting(fmt.Errorf("there is no setting %q; `forevervm settings` lists them all", key))
		case string(value) == "null":
			delete(file, key)
			continue
		}
		if err := rule(value, &service.Settings{}); err != nil {
			if whole := (*machine.Error)(nil); errors.As(err, &whole) {
				return api.Settings{}, whole
			}
			return api.Settings{}, invalidSetting(fmt.Errorf("%s must be %w", key, err))
		}
		if key == backupFolderKey {
			if err := s.mayBackUpTo(value); err != nil {
				return api.Settings{}, invalidSetting(err)
			}
		}
		file[key] = value
	}
	if err := s.dirs.WriteSettings(file); err != nil {
		return api.Settings{}, fmt.Errorf("the settings cannot be written: %w", err)
	}
	policies, _ := policiesOf(file)
	s.machines.SetSettings(policies)
	s.elsewhere.Store(isHosted(file[newMachines]))
	return s.Settings(), nil
}

func invalidSetting(err error) error {
	return &machine.Error{Kind: machine.ErrInvalid, Message: "Nothing was changed: " + err.Error() + ".", Cause: err}
}

// policies reads the settings file. What is wrong with it is for the person; the defaults hold in
// its place.
func (d *daemon) policies() service.Settings {
	file, err := d.dirs.ReadSettings()
	if err != nil {
		d.warn("Some settings do not hold: " + err.Error() + ".")
	}
	policies, wrong := policiesOf(file)
	for _, err := range wrong {
		d.warn("A setting in " + d.dirs.SettingsFile() + " does not hold, its default does: " + err.Error() + ".")
	}
	return policies
}

func policiesOf(file home.Settings) (policies service.Settings, wrong []error) {
	for key, rule := range rules {
		if value, ok := file[key]; ok {
			if err := rule(value, &policies); err != nil {
				if whole := (*machine.Error)(nil); errors.As(err, &whole) {
					err = fmt.Errorf("%s: %s", key, strings.TrimSuffix(whole.Message, "."))
				} else {
					err = fmt.Errorf("%s must be %w", key, err)
				}
				wrong = append(wrong, err)
			}
		}
	}
	return policies, wrong
}

// A rule reads the value of one setting. The error is what the value must be, or a *machine.Error,
// a sentence of its own.
type rule func(value json.RawMessage, into *service.Settings) error

const (
	day  = 24 * time.Hour
	long = 3650 * day
)

// rules are all settings, by their keys in the file and in api.Settings.
var rules = map[string]rule{
	"idle_swap":               span(time.Second, long, func(s *service.Settings) *time.Duration { return &s.IdleSwap }),
	"checkpoint_after_idle":   span(100*time.Millisecond, day, func(s *service.Settings) *time.Duration { return &s.CheckpointAfterIdle }),
	"checkpoint_every":        paced,
	"keep_all_checkpoints":    spanOrNever(long, func(s *service.Settings) *time.Duration { return &s.KeepAll }),
	"keep_hourly_checkpoints": span(time.Hour, long, func(s *service.Settings) *time.Duration { return &s.KeepHourly }),
	"keep_daily_checkpoints":  span(day, long, func(s *service.Settings) *time.Duration { return &s.KeepDaily }),
	"checkpoint_budget_mb":    mebibytes(0, func(s *service.Settings) *int64 { return &s.CheckpointBudget }),
	"bin_retention":           span(time.Hour, long, func(s *service.Settings) *time.Duration { return &s.BinRetention }),
	"max_in_memory_mb":        mebibytes(0, func(s *service.Settings) *int64 { return &s.MaxInMemory }),
	"network":                 networkMode,
	"network_hosts":           hosts(func(s *service.Settings) *[]string { return &s.Network.Hosts }),
	"network_approved":        hosts(func(s *service.Settings) *[]string { return &s.Network.Approved }),
	"min_free_memory_percent": percent,
	"min_free_memory_mb":      noneOr(mebibytes(64, func(s *service.Settings) *int64 { return &s.MinFreeMemory })),
	updateCheckKey:            dailyOrOff,
	backupFolderKey:           absolute,
	backupKeepKey:             copies,
	vmMemoryKey:               vmMebibytes(leastVMMemory),
	vmDiskKey:                 vmMebibytes(leastVMDisk),
	newMachines: func(value json.RawMessage, _ *service.Settings) error { // no policy of the machines here
		if string(value) != `"local"` && !isHosted(value) {
			return errors.New(`"local" or "hosted"`)
		}
		return nil
	},
}

// span is a duration between low and high.
func span(low, high time.Duration, field func(*service.Settings) *time.Duration) rule {
	return func(value json.RawMessage, into *service.Settings) error {
		var text string
		err := json.Unmarshal(value, &text)
		if err == nil {
			*field(into), err = parseDuration(text)
		}
		if err != nil || *field(into) < low || *field(into) > high {
			*field(into) = 0
			return fmt.Errorf("a time between %s and %s, such as %q or %q", duration(low), duration(high), "20m", "7d")
		}
		return nil
	}
}

// spanOrNever is a duration up to high. 0 is never, which the domain writes as a negative time: its
// 0 is the default.
func spanOrNever(high time.Duration, field func(*service.Settings) *time.Duration) rule {
	read := span(0, high, field)
	return func(value json.RawMessage, into *service.Settings) error {
		err := read(value, into)
		if err == nil && *field(into) == 0 {
			*field(into) = -1
		}
		return err
	}
}

// How often automatic checkpoints are made, where it is no time.
const (
	paceEach   = "each"
	paceManual = "manual"
)

// paced is how often automatic checkpoints are made: at most once in a time, or a word, which the
// domain writes as 0 and a negative time.
func paced(value json.RawMessage, into *service.Settings) error {
	switch string(value) {
	case `"` + paceEach + `"`:
		into.CheckpointEvery = 0
	case `"` + paceManual + `"`:
		into.CheckpointEvery = -1
	default:
		if err := span(time.Second, day, func(s *service.Settings) *time.Duration { return &s.CheckpointEvery })(value, into); err != nil {
			return fmt.Errorf("%q, %q, or %w", paceEach, paceManual, err)
		}
	}
	return nil
}

func pace(every time.Duration) string {
	switch {
	case every == 0:
		return paceEach
	case every < 0:
		return paceManual
	}
	return duration(every)
}

// mebibytes is a whole number of MiB, at least low.
func mebibytes(low int64, field func(*service.Settings) *int64) rule {
	return func(value json.RawMessage, into *service.Settings) error {
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || n < low || n > math.MaxInt64>>20 {
			return fmt.Errorf("a whole number of MiB, %d or more", low)
		}
		*field(into) = n << 20
		return nil
	}
}

// noneOr lets 0 pass, which is the default.
func noneOr(read rule) rule {
	return func(value json.RawMessage, into *service.Settings) error {
		if string(value) == "0" {
			return nil
		}
		if err := read(value, into); err != nil {
			return fmt.Errorf("0, or %w", err)
		}
		return nil
	}
}

// percent is the share of the computer's memory that is left free.
func percent(value json.RawMessage, into *service.Settings) error {
	n, err := strconv.Atoi(string(value))
	if err != nil || n < 1 || n > 90 {
		return errors.New("a whole number from 1 to 90")
	}
	into.MinFreeShare = n
	return nil
}

// networkMode is what machines may reach.
func networkMode(value json.RawMessage, into *service.Settings) error {
	var mode machine.NetworkMode
	if json.Unmarshal(value, &mode) != nil || mode == machine.NetworkDefault || machine.CheckNetworkPolicy(machine.NetworkPolicy{Mode: mode}) != nil {
		return errors.New("off, ask, public or list")
	}
	into.Network.Mode = mode
	return nil
}

// hosts is a list of hosts. What is wrong with one of them is a *machine.Error: it says more than
// what a list is.
func hosts(field func(*service.Settings) *[]string) rule {
	return func(value json.RawMessage, into *service.Settings) error {
		var list []string
		if json.Unmarshal(value, &list) != nil {
			return fmt.Errorf("a list of hosts such as %q, %q or %q", "example.com", "*.example.com", "192.168.1.5")
		}
		if err := machine.CheckNetworkPolicy(machine.NetworkPolicy{Hosts: list}); err != nil {
			return err
		}
		*field(into) = list
		return nil
	}
}

var errNoDays = errors.New("not a number of days")

// parseDuration reads what time.ParseDuration does, and whole days.
func parseDuration(text string) (time.Duration, error) {
	days, ok := strings.CutSuffix(text, "d")
	if !ok {
		return time.ParseDuration(text)
	}
	n, err := strconv.Atoi(days)
	if err != nil || n < 0 || n > int(math.MaxInt64/day) {
		return 0, errNoDays
	}
	return time.Duration(n) * day, nil
}

// duration writes a time as parseDuration reads it, as short as it goes.
func duration(d time.Duration) string {
	if d >= day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
