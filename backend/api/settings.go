package api

// Settings are what the person may set, as it holds now. Durations are written like "20m", "1h30m" or "7d".
type Settings struct {
	IdleSwap            string `json:"idle_swap"`             // an idle machine leaves memory after this
	CheckpointAfterIdle string `json:"checkpoint_after_idle"` // a changed machine is saved once idle for this long
	BinRetention        string `json:"bin_retention"`         // a machine stays in the bin for this long
	MaxInMemoryMB       int64  `json:"max_in_memory_mb"`      // MiB of all machines; beyond it idle ones leave memory; 0: no limit
	MinFreeMemoryMB     int64  `json:"min_free_memory_mb"`    // MiB of the computer's memory to leave free
}
