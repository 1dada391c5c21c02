package api

// Settings are what the person may set, as it holds now. Durations are written like "20m", "1h30m" or "7d".
type Settings struct {
	NewMachines           string   `json:"new_machines"`            // local or hosted: where machines are made where nobody names an engine
	IdleSwap              string   `json:"idle_swap"`               // an idle machine leaves memory after this
	CheckpointAfterIdle   string   `json:"checkpoint_after_idle"`   // a changed machine is saved once idle for this long
	CheckpointEvery       string   `json:"checkpoint_every"`        // at most one automatic checkpoint in this time; "each": after each piece of work; "manual": none while it is in memory
	KeepAllCheckpoints    string   `json:"keep_all_checkpoints"`    // every automatic checkpoint is kept for this long; 0s: only a machine's latest is
	KeepHourlyCheckpoints string   `json:"keep_hourly_checkpoints"` // and then one an hour, up to this age
	KeepDailyCheckpoints  string   `json:"keep_daily_checkpoints"`  // and then one a day, up to this age
	CheckpointBudgetMB    int64    `json:"checkpoint_budget_mb"`    // MiB of older checkpoints; beyond it the oldest automatic ones go; 0: 10 GiB or a tenth of the room
	BinRetention          string   `json:"bin_retention"`           // a machine stays in the bin for this long
	MaxInMemoryMB         int64    `json:"max_in_memory_mb"`        // MiB of all machines; beyond it idle ones leave memory, and others wait; 0: no limit
	MinFreeMemoryPercent  int      `json:"min_free_memory_percent"` // of the computer's memory to leave free: machines wait until there is room
	MinFreeMemoryMB       int64    `json:"min_free_memory_mb"`      // MiB to leave free in place of that; 0: the percentage holds
	UpdateCheck           string   `json:"update_check"`            // whether newer releases are looked for by themselves: "daily" or "off"
	Network               string   `json:"network"`                 // what machines may reach that have no policy of their own: off, ask, public, list
	NetworkHosts          []string `json:"network_hosts"`           // named by hand, for these machines
	NetworkApproved       []string `json:"network_approved"`        // that a person has approved of for all machines when asked
}
