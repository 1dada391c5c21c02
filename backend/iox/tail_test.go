package iox_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/iox"
)

func TestTheEndIsKept(t *testing.T) {
	var kept iox.Tail
	fmt.Fprint(&kept, "first ")
	if kept.String() != "first " {
		t.Errorf("it is %q", kept.String())
	}
	fmt.Fprint(&kept, strings.Repeat("é", iox.TailSize), "x") // the cut goes through the first é
	if got := kept.String(); len(got) != iox.TailSize-1 || !strings.HasPrefix(got, "é") || !strings.HasSuffix(got, "éx") {
		t.Errorf("it is %d bytes: %.10q…%q", len(got), got, got[len(got)-10:])
	}
}
