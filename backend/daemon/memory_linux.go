package daemon

import (
	"errors"

	"github.com/forevervm/desktop/backend/sandbox"
)

// freeMemory is how many bytes the computer can still give without swapping.
func freeMemory() (int64, error) {
	_, available := sandbox.HostMemory()
	if available < 0 {
		return 0, errors.New("the system does not say how much memory is available")
	}
	return available, nil
}

// totalMemory is how many bytes of memory the computer has.
func totalMemory() int64 {
	total, _ := sandbox.HostMemory()
	return total
}
