package api

import "time"

// Parcel is what the beginning of a machine's file says of it, and what is to be said about it here.
type Parcel struct {
	Name         string            `json:"name"` // that the machine had
	Title        string            `json:"title,omitempty"`
	Tags         map[string]string `json:"tags"`
	Image        string            `json:"image"`
	MemoryMB     int               `json:"memory_mb"`
	Instructions int               `json:"instructions"`
	Size         int64             `json:"size"`     // of its state, unpacked, in bytes
	SavedAt      time.Time         `json:"saved_at"` // as its maker says
	Program      string            `json:"program"`  // the version of ForeverVM that made it
	Maker        ParcelMaker       `json:"maker"`
	// Problem is why it cannot be opened here, and what to do: sentences; empty where nothing is known against it.
	Problem string `json:"problem,omitempty"`
}

// ParcelMaker is who has made a machine's file.
type ParcelMaker struct {
	Fingerprint string `json:"fingerprint"`
	Standing    string `json:"standing"`       // own, accepted, unknown
	Name        string `json:"name,omitempty"` // as the person calls them who accepted them
}

// Maker is somebody whose files the person has accepted.
type Maker struct {
	Fingerprint string    `json:"fingerprint"`
	Name        string    `json:"name,omitempty"`
	AcceptedAt  time.Time `json:"accepted_at"`
}
