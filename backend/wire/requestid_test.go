package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/forevervm/desktop/backend/wire"
)

var messages = map[string]struct {
	id int64
	ok bool
}{
	`{"type":"exec","instruction":{"code":"x","timeout_seconds":5},"request_id":7}`:               {7, true},
	`{"request_id" : -12 , "type":"exec","instruction":{"code":"a, b: } ] {"}}`:                   {-12, true},
	`{"instruction":{"request_id":1,"code":"\"request_id\":2"},"request_id":9223372036854775807}`: {9223372036854775807, true},
	`{"instruction":{"code":"\\"},"request_id":3}`:                                                {3, true},
	`{"type":"exec","code":"request_id","x":4}`:                                                   {},
	`{"type":"exec","request_id":"5"}`:                                                            {},
	`{"type":"exec","request_id":null}`:                                                           {},
	`{"type":"exec","request_id":[6]}`:                                                            {},
	`{"type":"exec","request_id":99999999999999999999999999}`:                                     {},
	`{"type":"exec","request_idx":6,"equest_id":6}`:                                               {},
	`{"type":"exec"}`: {},
	`"request_id"`:    {},
	`]]]}{":,`:        {},
	``:                {},
}

func TestRequestIDIsFoundInPieces(t *testing.T) {
	for message, want := range messages {
		for size := 1; size <= len(message)+1; size++ {
			var scan wire.RequestIDScanner
			for rest := []byte(message); len(rest) > 0; rest = rest[min(size, len(rest)):] {
				_, _ = scan.Write(rest[:min(size, len(rest))])
			}
			if id, ok := scan.ID(); ok != want.ok || ok && id != want.id {
				t.Errorf("%s in pieces of %d: %d, %v", message, size, id, ok)
			}
		}
	}
}

// What a JSON decoder finds, the scanner finds, and nothing that breaks it.
func FuzzRequestIDScanner(f *testing.F) {
	for message := range messages {
		f.Add([]byte(message))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var scan wire.RequestIDScanner
		_, _ = scan.Write(data)
		id, ok := scan.ID()
		var fields map[string]json.RawMessage
		if json.Unmarshal(data, &fields) != nil || fields == nil {
			return
		}
		var want *int64
		if json.Unmarshal(fields["request_id"], &want) == nil && want != nil && ok && id != *want {
			t.Errorf("%q: %d, want %d", data, id, *want)
		}
	})
}
