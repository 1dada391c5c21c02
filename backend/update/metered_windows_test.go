package update

import "testing"

func TestWindowsTellsWhatTheConnectionCosts(t *testing.T) {
	for range 2 { // what the first time begins is ended
		if cost, err := connectionCost(); err != nil {
			t.Errorf("%#x, %v", cost, err)
		}
	}
}
