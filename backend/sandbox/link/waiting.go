package link

import "github.com/forevervm/desktop/backend/machine"

const (
	// maxWaiting bounds the frames that wait for the domain to take them, in bytes. An honest
	// runner keeps at most 4 MiB and one frame unacknowledged; one that forges frames is held up.
	maxWaiting = 16 << 20
	// share is the part of maxWaiting that even the smallest frame takes.
	share = 256 << 10
	// maxFrames is how many frames wait at most.
	maxFrames = maxWaiting / share
)

// waiting are the frames that the domain has not taken yet, in order. One goroutine adds, one
// delivers.
type waiting struct {
	queue chan weighed
	room  chan struct{} // one element for each share that is taken
	deaf  chan struct{} // closed when nobody needs further frames
}

type weighed struct {
	frame  machine.Frame
	shares int
}

func newWaiting() *waiting {
	return &waiting{queue: make(chan weighed, maxFrames), room: make(chan struct{}, maxFrames), deaf: make(chan struct{})}
}

// add adds a frame of so many bytes when there is room.
func (w *waiting) add(frame machine.Frame, size int) {
	shares := min(1+size/share, maxFrames)
	for range shares {
		select {
		case w.room <- struct{}{}:
		case <-w.deaf:
			return
		}
	}
	w.queue <- weighed{frame, shares}
}

// close says that no frame follows.
func (w *waiting) close() { close(w.queue) }

// deliver passes the frames on until the last one, and closes to.
func (w *waiting) deliver(to chan<- machine.Frame) {
	defer close(to)
	for f := range w.queue {
		select {
		case <-w.deaf: // and so are all that follow: none may be missing in between
			return
		default:
		}
		select {
		case to <- f.frame:
		case <-w.deaf:
			return
		}
		for range f.shares {
			<-w.room
		}
	}
}
