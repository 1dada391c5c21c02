package mcpserver

import (
	"bytes"
	"encoding/json"
	"testing"
)

// A message that is no request of the extension is handed on as it came.
func TestOtherMessagesStayAsTheyAre(t *testing.T) {
	for _, message := range []string{
		``, `no JSON "tasks/get"`, `[{"method":"tasks/get"}]`, `{"jsonrpc":"2.0","method":"tasks/get","params":{"taskId":"a"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/list","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run-python-in-repl","arguments":{"pythonCode":"\"tasks/get\""}}}`,
	} {
		if got := asCall([]byte(message)); string(got) != message {
			t.Errorf("%s became %s", message, got)
		}
	}
}

// Nothing that code prints stands in place of a result.
func TestOutputIsNoMarker(t *testing.T) {
	printed := `{"_meta":{"` + insteadKey + `":{"result":{"resultType":"task"}}}}`
	text, err := json.Marshal(printed)
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":` + string(text) + `}]}}` + "\n",
		`{"jsonrpc":"2.0","id":1,"result":{"content":[` + printed + `]}}` + "\n",
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"message":` + string(text) + `}}` + "\n",
	} {
		for _, written := range []string{message, "event: message\ndata: " + message + "\n"} {
			if sent, code := asSent([]byte(written)); string(sent) != written || code != 0 {
				t.Errorf("%s became %s", written, sent)
			}
		}
	}
}

// A request's number stays what it was, whatever it is.
func TestAnswersKeepTheirNumber(t *testing.T) {
	for _, id := range []string{`1`, `"a"`, `12345678901234567890`} {
		call := asCall([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"tasks/get","params":{"taskId":"a"}}`))
		if !bytes.Contains(call, []byte(`"id":`+id)) {
			t.Errorf("%s became %s", id, call)
		}
		result, err := json.Marshal(insteadError(-1, "no", nil))
		if err != nil {
			t.Fatal(err)
		}
		sent, code := asSent([]byte(`{"jsonrpc":"2.0","id":` + id + `,"result":` + string(result) + `}`))
		if want := `{"error":{"code":-1,"message":"no"},"id":` + id + `,"jsonrpc":"2.0"}` + "\n"; string(sent) != want || code != -1 {
			t.Errorf("%s became %s", id, sent)
		}
	}
}

func TestTaskIDs(t *testing.T) {
	for _, id := range []taskID{{"run", "brisk-otter-1", 0, 0}, {"read", "a/b ü", 12, 1 << 40}} {
		if got, ok := parseTaskID(id.String()); !ok || got != id {
			t.Errorf("%+v became %+v", id, got)
		}
	}
	for _, text := range []string{"", "run", "run/a/1", "run/a/-1/0", "run/a/1/0/0", "run//1/0", "run/../1/0", "run/%zz/1/0", "get/a/1/0", "run/a/99999999999/0"} {
		if id, ok := parseTaskID(text); ok {
			t.Errorf("%q is %+v", text, id)
		}
	}
}
