package machine

import "testing"

func TestStatesGoOnlyWhereTheyMay(t *testing.T) {
	all := []State{Swapped, Waking, Idle, Running, Swapping, Deleted}
	for _, from := range all {
		for _, to := range all {
			got, err := from.To(to)
			legal := from == to
			for _, next := range transitions[from] {
				legal = legal || next == to
			}
			if legal != (err == nil) || legal && got != to || !legal && got != from {
				t.Errorf("%s to %s: %s, %v", from, to, got, err)
			}
		}
	}
	if _, err := Deleted.To(Running); err == nil {
		t.Error("a machine in the bin runs")
	}
}
