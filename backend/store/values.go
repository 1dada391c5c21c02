package store

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

func nano(t time.Time) int64 { return t.UnixNano() }

func nanoPtr(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UnixNano()
}

func fromNano(n int64) time.Time { return time.Unix(0, n).UTC() }

func fromNanoPtr(n *int64) *time.Time {
	if n == nil {
		return nil
	}
	t := fromNano(*n)
	return &t
}

// toJSON is for values that always have a JSON form.
func toJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// form is a representation's MIME type and length, as an array in JSON.
type form struct {
	mime string
	size int
}

// MarshalJSON writes [mime, size].
func (f form) MarshalJSON() ([]byte, error) { return json.Marshal([]any{f.mime, f.size}) }

// UnmarshalJSON reads [mime, size].
func (f *form) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&f.mime, &f.size})
}

// pack turns representations into one blob and the description of its parts.
func pack(reps []machine.Representation) (forms string, data []byte, err error) {
	if len(reps) == 0 {
		return "", nil, nil
	}
	shapes := make([]form, len(reps))
	n := 0
	for i, r := range reps {
		shapes[i] = form{r.MIME, len(r.Data)}
		n += len(r.Data)
	}
	data = make([]byte, 0, n)
	for _, r := range reps {
		data = append(data, r.Data...)
	}
	forms, err = toJSON(shapes)
	return forms, data, err
}

func unpack(forms string, data []byte) ([]machine.Representation, error) {
	if forms == "" {
		return nil, nil
	}
	var shapes []form
	if err := json.Unmarshal([]byte(forms), &shapes); err != nil {
		return nil, err
	}
	reps := make([]machine.Representation, len(shapes))
	for i, f := range shapes {
		if f.size < 0 || f.size > len(data) {
			return nil, errors.New("the lengths of a stored representation do not fit its data")
		}
		reps[i] = machine.Representation{MIME: f.mime, Data: data[:f.size:f.size]}
		data = data[f.size:]
	}
	return reps, nil
}

// blob makes an empty value one that is not NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
