package api

import (
	"encoding/json"
	"time"
)

// OptionalTime is a time or null, told apart from absent by its pointer.
type OptionalTime struct{ Time *time.Time }

// MarshalJSON writes the time or null.
func (o OptionalTime) MarshalJSON() ([]byte, error) {
	if o.Time == nil {
		return []byte("null"), nil
	}
	return o.Time.MarshalJSON()
}

// UnmarshalJSON reads the time or null.
func (o *OptionalTime) UnmarshalJSON(data []byte) error {
	o.Time = nil
	return json.Unmarshal(data, &o.Time)
}

// UnmarshalJSON tells an expires_at of null (never) from an absent one (as it is): encoding/json
// alone makes a nil pointer of both.
func (c *MachineChange) UnmarshalJSON(data []byte) error {
	type plain MachineChange
	if err := json.Unmarshal(data, (*plain)(c)); err != nil {
		return err
	}
	var present struct {
		ExpiresAt json.RawMessage `json:"expires_at"`
	}
	if err := json.Unmarshal(data, &present); err != nil {
		return err
	}
	if string(present.ExpiresAt) == "null" {
		c.ExpiresAt = &OptionalTime{}
	}
	return nil
}

// Never is what expires_at is set to when a machine shall stay.
func Never() *OptionalTime { return &OptionalTime{} }

// At is what expires_at is set to when a machine shall go to the bin then.
func At(t time.Time) *OptionalTime { return &OptionalTime{Time: &t} }
