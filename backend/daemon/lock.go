package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/gofrs/flock"

	"github.com/forevervm/desktop/backend/handshake"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/localsocket"
)

// ErrRuns says that another daemon runs on the same files.
var ErrRuns = errors.New("ForeverVM runs already")

// A daemon that ends saves its machines first; its successor waits for it.
const (
	predecessorWithin = 60 * time.Second
	lookEvery         = 20 * time.Millisecond
)

// lock makes this the one daemon of its files. The lock goes with the process, however that ends.
func lock(ctx context.Context, dirs home.Dirs) (unlock func(), err error) {
	file := flock.New(dirs.LockFile(), flock.SetPermissions(0o600))
	deadline := time.Now().Add(predecessorWithin)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		locked, err := file.TryLock()
		if err != nil {
			return nil, fmt.Errorf("the lock %s cannot be used: %w", dirs.LockFile(), err)
		}
		other, readErr := dirs.ReadDaemon()
		if readErr == nil && answers(ctx, dirs, other.URL) {
			err := fmt.Errorf("%w: process %d at %s; stop that one first, or use it", ErrRuns, other.PID, other.URL)
			if locked { // somebody has removed the lock that the other one holds
				err = errors.Join(err, file.Unlock())
			}
			return nil, err
		}
		if locked {
			// What a killed daemon has said leads to anyone who has its port now.
			if err := os.Remove(dirs.DaemonFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, errors.Join(fmt.Errorf("what an earlier daemon has left cannot be removed: %w", err), file.Unlock())
			}
			return func() { _ = file.Unlock() }, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%w, but does not answer: another process holds %s; end it, or restart the computer", ErrRuns, dirs.LockFile())
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// answers says whether the daemon of these files is at a URL. While it starts or ends, none is.
func answers(ctx context.Context, dirs home.Dirs, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
	if err != nil {
		return false
	}
	client := handshake.Client(dirs.ReadOwnerToken, localsocket.Prefer(dirs.Socket))
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
