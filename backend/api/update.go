package api

import "time"

// Update is what is known of newer releases.
type Update struct {
	Version  string     `json:"version"`             // the one that runs
	LookedAt *time.Time `json:"looked_at,omitempty"` // when it was last looked for newer ones, with success
	Newer    *Release   `json:"newer,omitempty"`     // absent where nothing newer is known
	Busy     bool       `json:"busy"`                // it is downloaded or installed at this moment
	Problem  string     `json:"problem,omitempty"`   // what went wrong last, a sentence
}

// Release is one that is newer than the version that runs.
type Release struct {
	Version string `json:"version"`
	Notes   string `json:"notes"` // what is new, plain text
	Size    int64  `json:"size"`  // bytes to download; 0: there is no package for this computer
	Bytes   int64  `json:"bytes"` // of them that are here, while it is downloaded
	Ready   bool   `json:"ready"` // it is here whole, and can be installed
}
