package checkpoint

import (
	"os"
	"strings"
	"sync"
)

// thisBoot names this run of the computer's system: what was written in it, and not synced, is gone
// with it. "" where that is not known.
var thisBoot = sync.OnceValue(func() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
})
