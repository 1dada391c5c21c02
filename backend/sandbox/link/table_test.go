package link

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

// What a machine says of a table is believed only as far as it is a page that was asked for.
func TestATableIsNoMoreThanWasAskedFor(t *testing.T) {
	q := machine.TableQuery{Name: "x", Limit: 2, Columns: 1}
	long := strings.Repeat("x", 1<<20)
	for answer, good := range map[string]bool{
		`{"rows": 9, "matching": 5, "width": 3, "columns": [{"name": "a", "number": true}], "index": ["0", "1"], "cells": [["1"], [null]]}`:     true,
		`{"rows": 9, "matching": 5, "width": 3, "columns": [{"name": "` + long + `"}], "index": ["` + long + `"], "cells": [["` + long + `"]]}`: true,
		`{}`: true,
		`{"rows": 9, "matching": 5, "width": 3, "columns": [{"name": "a"}], "index": ["0", "1"], "cells": [["1"], ["2", "3"]]}`: false,
		`{"rows": 9, "matching": 5, "width": 3, "columns": [{"name": "a"}], "index": ["0"], "cells": [["1"], ["2"]]}`:           false,
		`{"rows": 9, "matching": 5, "width": 3, "columns": [{}, {}], "index": [], "cells": []}`:                                 false,
		`{"rows": 9, "matching": 5, "width": 3, "columns": [{}], "index": ["0", "1", "2"], "cells": [["1"], ["2"], ["3"]]}`:     false,
		`{"rows": 3, "matching": 5, "width": 3, "columns": [], "index": [], "cells": []}`:                                       false,
		`{"rows": 9, "matching": 0, "width": 1, "columns": [{}], "index": ["0"], "cells": [["1"]]}`:                             false,
		`{"rows": 9, "matching": 5, "width": 0, "columns": [{}], "index": [], "cells": []}`:                                     false,
		`{"rows": 9, "matching": 5, "width": 3, "offset": -1, "columns": [], "index": [], "cells": []}`:                         false,
	} {
		var page tablePage
		if err := json.Unmarshal([]byte(answer), &page); err != nil {
			t.Fatal(err)
		}
		table, err := page.domain(q)
		if (err == nil) != good {
			t.Errorf("%.200s: %v", answer, err)
		}
		for _, row := range table.Cells {
			for _, cell := range row {
				if cell != nil && len(*cell) > 2*maxCell {
					t.Errorf("a cell has %d bytes", len(*cell))
				}
			}
		}
	}
	page := tablePage{Problem: long}
	if _, err := page.domain(q); !errors.Is(err, machine.ErrInvalid) || len(err.Error()) > 2*maxProblem {
		t.Errorf("%.100v", err)
	}
}
