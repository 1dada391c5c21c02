package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/api"
)

func TestMachineChangeTellsNullFromAbsent(t *testing.T) {
	when := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		change api.MachineChange
		want   string
	}{
		{api.MachineChange{}, `{}`},
		{api.MachineChange{ExpiresAt: api.Never()}, `{"expires_at":null}`},
		{api.MachineChange{ExpiresAt: api.At(when)}, `{"expires_at":"2027-01-02T03:04:05Z"}`},
	} {
		data, err := json.Marshal(test.change)
		if err != nil {
			t.Fatal(err)
		}
		if string(data) != test.want {
			t.Errorf("written as %s, want %s", data, test.want)
		}
		var back api.MachineChange
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		again, _ := json.Marshal(back)
		if string(again) != test.want {
			t.Errorf("read back as %s, want %s", again, test.want)
		}
	}
}

func TestMachineChangeKeepsNullTags(t *testing.T) {
	var change api.MachineChange
	if err := json.Unmarshal([]byte(`{"tags":{"a":null,"b":"c"}}`), &change); err != nil {
		t.Fatal(err)
	}
	if v, ok := change.Tags["a"]; !ok || v != nil {
		t.Errorf("a null tag came as %v, %v; it means removal", v, ok)
	}
	if v := change.Tags["b"]; v == nil || *v != "c" {
		t.Errorf("tag b came as %v", v)
	}
}
