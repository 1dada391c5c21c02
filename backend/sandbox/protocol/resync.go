package protocol

import (
	"bufio"
	"bytes"
)

const (
	// maxResync bounds how much is discarded in search of the ready frame: more than a runner can
	// have begun to write before its checkpoint (its unacknowledged frames and one of the largest).
	maxResync = 64 << 20
	// maxReady bounds the header of the ready frame that is looked for.
	maxReady = 64 << 10
	// ResyncBuffer is how large the buffer of Resync's reader must be, in bytes.
	ResyncBuffer = 4 * maxReady
)

// Resync discards what comes from r until the ready frame that repeats sync, and returns that
// frame. A checkpoint may have caught the runner in the middle of a frame, whose rest it writes
// first after the restore. The reader's buffer must hold ResyncBuffer bytes.
func Resync(r *bufio.Reader, sync string) (Frame, error) {
	mark := []byte(`"` + sync + `"`)
	discarded := 0
	for searched := 0; ; {
		// Wait for at least one byte that has not been searched.
		if _, err := r.Peek(searched + 1); err != nil {
			return Frame{}, midFrame(err)
		}
		window, _ := r.Peek(r.Buffered())
		for from := 0; ; {
			i := bytes.Index(window[from:], mark)
			if i < 0 {
				break
			}
			at := from + i
			if drop := at - maxReady; drop > 0 {
				// Room for the rest of the frame in the buffer.
				_, _ = r.Discard(drop)
				at -= drop
			}
			start, err := readyAround(r, at, sync)
			if err != nil {
				return Frame{}, err
			}
			if start >= 0 {
				_, _ = r.Discard(start)
				return Read(r)
			}
			window, _ = r.Peek(r.Buffered())
			from = at + len(mark)
		}
		if drop := len(window) - maxReady; drop > 0 {
			if discarded += drop; discarded > maxResync {
				return Frame{}, violation("no ready frame within %d bytes", maxResync)
			}
			_, _ = r.Discard(drop)
			searched = maxReady
		} else {
			searched = len(window)
		}
	}
}

// readyAround returns where in r's buffer the ready frame begins whose header contains the byte at
// `at`; -1 when there is none. It waits for the frame's end.
func readyAround(r *bufio.Reader, at int, sync string) (int, error) {
	window, _ := r.Peek(r.Buffered())
	for start := at - PrefixSize - 1; start >= 0 && start > at-maxReady; start-- {
		if window[start+PrefixSize] != '{' {
			continue
		}
		h, p, err := parsePrefix(window[start:])
		end := start + PrefixSize + h
		if err != nil || p != 0 || h > maxReady || end <= at {
			continue
		}
		full, err := r.Peek(end)
		if err != nil {
			return -1, midFrame(err)
		}
		header := full[start+PrefixSize:]
		if typ, err := headerType(header); err == nil && typ == TypeReady {
			ready, err := ParseReady(Frame{Type: typ, Header: header})
			if err == nil && ready.Sync == sync {
				return start, nil
			}
		}
		window, _ = r.Peek(r.Buffered())
	}
	return -1, nil
}
