package tail_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/tail"
)

func TestTheEndIsKept(t *testing.T) {
	var kept tail.Tail
	fmt.Fprint(&kept, "first ")
	if kept.String() != "first " {
		t.Errorf("it is %q", kept.String())
	}
	fmt.Fprint(&kept, strings.Repeat("é", tail.Size), "x") // the first of what is left is cut in two
	if got := kept.String(); len(got) != tail.Size-1 || !strings.HasPrefix(got, "é") || !strings.HasSuffix(got, "éx") {
		t.Errorf("it is %d bytes: %.10q…%q", len(got), got, got[len(got)-10:])
	}
}
