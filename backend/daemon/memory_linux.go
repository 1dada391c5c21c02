package daemon

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
)

// freeMemory is how many bytes the computer can still give without swapping.
var freeMemory = memAvailable

func memAvailable() (int64, error) {
	file, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			var kib int64
			_, err := fmt.Sscanf(rest, "%d kB", &kib)
			return kib << 10, err
		}
	}
	return 0, errors.New("/proc/meminfo does not say how much memory is available")
}
