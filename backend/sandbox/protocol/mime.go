package protocol

import "encoding/json"

// mime is a pair of a MIME type and how many bytes of the payload are of it, in JSON a list of two.
type mime struct {
	name   string
	length int
}

// UnmarshalJSON reads ["type", length].
func (m *mime) UnmarshalJSON(b []byte) error {
	var pair []json.RawMessage
	if err := json.Unmarshal(b, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return violation("a representation that is not a pair")
	}
	if err := json.Unmarshal(pair[0], &m.name); err != nil {
		return err
	}
	return json.Unmarshal(pair[1], &m.length)
}
