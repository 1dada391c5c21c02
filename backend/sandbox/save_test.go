//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// A full disk is told as such, also where runsc only fails.
func TestDescribeSave(t *testing.T) {
	const mib = 1 << 20
	crash := &runscError{command: "checkpoint", err: errors.New("exit status 128"), log: "panic: short write\ngoroutine 1 [running]:"}
	for name, c := range map[string]struct {
		err                 error
		before, after, need int64
		want                string
	}{
		"nothing left":         {crash, 500 * mib, 1 * mib, 100 * mib, protocol.KindDiskFull},
		"could not fit":        {crash, 500 * mib, 200 * mib, 900 * mib, protocol.KindDiskFull},
		"runsc says so":        {&runscError{err: errors.New("x"), log: "write: no space left on device"}, 500 * mib, 400 * mib, 100 * mib, protocol.KindDiskFull},
		"another reason":       {crash, 500 * mib, 400 * mib, 100 * mib, protocol.KindUnavailable},
		"the system says so":   {fmt.Errorf("write: %w", unix.EDQUOT), 500 * mib, 400 * mib, 100 * mib, protocol.KindDiskFull},
		"more room than known": {crash, roomIn("/nowhere"), roomIn("/nowhere"), 100 * mib, protocol.KindUnavailable},
	} {
		err := c.err
		if noRoom(c.before, c.after, c.need) {
			err = errors.Join(unix.ENOSPC, err)
		}
		var told *told
		if err := describeSave(err); !errors.As(err, &told) || told.kind != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
