package service_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// box is one scripted machine in memory.
type box struct {
	s      *script
	id     machine.ID
	ready  machine.Ready
	frames chan machine.Frame
	in     chan machine.Frame
	ended  chan struct{}
	todo   chan job
	signal chan string // interrupt, release, end

	mu    sync.Mutex
	mem   memory
	dead  bool
	cause machine.Cause
	used  int64
	limit int
	still chan struct{} // closed when the save that goes on is over; nil for none

	cancelled []time.Time // when instructions were
}

func (b *box) Ready() machine.Ready         { return b.ready }
func (b *box) Frames() <-chan machine.Frame { return b.frames }
func (b *box) Ended() <-chan struct{}       { return b.ended }

func (b *box) Cause() machine.Cause {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cause
}

// deliver passes frames on, those that are sent again first.
func (b *box) deliver(again []machine.Frame) {
	for _, f := range again {
		b.frames <- f
	}
	for f := range b.in {
		b.frames <- f
	}
}

// say sends a frame of the running job.
func (b *box) say(j *job, f machine.Frame) {
	b.mu.Lock()
	f.Seq, f.Index, f.At = j.seq, j.index, time.Now()
	f.Item.Index = f.Index
	j.index++
	if b.mem.running != nil {
		b.mem.running.index = j.index
	}
	if f.Type == machine.FrameResult {
		b.mem.running = nil
		if f.Result.OK {
			b.mem.done = append(b.mem.done, strconv.Itoa(j.seq))
		}
	}
	b.mem.unacked = append(b.mem.unacked, f)
	dead := b.dead
	b.mu.Unlock()
	if !dead {
		b.in <- f
	}
}

func (b *box) run() {
	defer close(b.in)
	b.mu.Lock()
	var first *job
	if w := b.mem.waiting; w != nil {
		j := *w
		go func() { // begins a moment after it woke, unless it is taken back
			time.Sleep(time.Second)
			b.mu.Lock()
			begins := b.mem.waiting != nil && !b.dead
			b.mem.waiting = nil
			b.mu.Unlock()
			if begins {
				b.todo <- j
			}
		}()
	}
	if b.mem.running != nil {
		j := *b.mem.running
		first = &j
	}
	b.mu.Unlock()
	if first != nil && !b.perform(first) {
		return
	}
	for {
		select {
		case j := <-b.todo:
			if !b.perform(&j) {
				return
			}
		case sig := <-b.signal:
			if sig == "end" {
				return
			}
		}
	}
}

// perform runs a job, from where it was, and says whether the box goes on.
func (b *box) perform(j *job) bool {
	if j.index == 0 {
		b.mu.Lock()
		c := *j
		b.mem.running, b.mem.last = &c, max(b.mem.last, j.seq)
		b.mu.Unlock()
		b.say(j, machine.Frame{Type: machine.FrameStarted})
	}
	word, rest, _ := strings.Cut(j.code, " ")
	value := "None"
	switch word {
	case "print":
		if j.index == 1 {
			b.say(j, machine.Frame{Type: machine.FrameItem, Item: machine.Item{Kind: machine.ItemOutput, Stream: "stdout", Text: []byte(rest)}})
		}
	case "bytes": // one at a time, and then the beginning of a character
		all := []byte(rest + "\xe6\xbc")
		for _, c := range all[j.index-1:] {
			time.Sleep(30 * time.Millisecond)
			b.say(j, machine.Frame{Type: machine.FrameItem, Item: machine.Item{Kind: machine.ItemOutput, Stream: "stdout", Text: []byte{c}}})
		}
	case "flood", "slow":
		lines, _ := strconv.Atoi(rest)
		for n := j.index - 1; n < lines; n++ {
			if word == "slow" {
				time.Sleep(time.Millisecond)
			}
			select {
			case sig := <-b.signal:
				if sig == "end" {
					return false
				}
			default:
			}
			b.say(j, machine.Frame{Type: machine.FrameItem, Item: machine.Item{Kind: machine.ItemOutput, Stream: "stdout", Text: []byte(fmt.Sprintf("line %d\n", n))}})
		}
	case "blob":
		n, _ := strconv.Atoi(rest)
		for range n {
			b.say(j, machine.Frame{Type: machine.FrameItem, Item: machine.Item{Kind: machine.ItemOutput, Stream: "stdout", Text: bytes.Repeat([]byte{'x'}, 100<<10)}})
		}
	case "figure":
		n, _ := strconv.Atoi(rest)
		b.say(j, machine.Frame{Type: machine.FrameItem, Item: machine.Item{Kind: machine.ItemDisplay, Representations: []machine.Representation{
			{MIME: "image/png", Data: bytes.Repeat([]byte{'p'}, n)}, {MIME: "text/html", Data: []byte("<b>")}, {MIME: "text/plain", Data: bytes.Repeat([]byte{'t'}, n)},
		}}})
	case "list":
		b.mu.Lock()
		value = strings.Join(b.mem.done, " ")
		b.mu.Unlock()
	case "die":
		b.mu.Lock()
		b.dead, b.cause = true, machine.Cause{Kind: machine.EndedExited, Detail: "Python was ended by signal 11 (segmentation fault)."}
		b.mu.Unlock()
		return false
	case "hang", "stubborn", "reluctant", "handle", "wait":
		for asked := 0; ; {
			sig := <-b.signal
			if sig == "end" {
				return false
			}
			if sig == "interrupt" {
				asked++
			}
			if sig == "release" && word == "wait" || sig == "interrupt" && word == "handle" {
				break
			}
			if sig == "interrupt" && word != "stubborn" && (word != "reluctant" || asked == 4) {
				b.say(j, machine.Frame{Type: machine.FrameResult, Result: machine.Result{ErrorName: "KeyboardInterrupt", Error: "Traceback…\nKeyboardInterrupt", Runtime: time.Second}})
				return true
			}
		}
	}
	b.say(j, machine.Frame{Type: machine.FrameResult, Result: machine.Result{OK: true, Value: &value, Runtime: time.Millisecond}})
	if word == "background" {
		b.in <- machine.Frame{Type: machine.FrameBackground, Item: machine.Item{Kind: machine.ItemOutput, Stream: "stdout", Text: []byte("from a thread\n")}}
	}
	return true
}

func (b *box) Execute(ctx context.Context, seq int, code string, _ []string) error {
	b.s.mu.Lock()
	takes := b.s.handTakes
	b.s.mu.Unlock()
	if err := stand(ctx, takes); err != nil {
		return err
	}
	if err := b.awaitSave(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	known := seq <= b.mem.last
	b.mu.Unlock()
	b.s.mu.Lock()
	if b.s.ending {
		b.s.mu.Unlock()
		return &machine.Error{Kind: machine.ErrConflict, Message: "The machine is no longer in memory."}
	}
	known = known || b.s.deaf
	if b.s.sluggish && !known {
		known = true
		b.mu.Lock()
		b.mem.last, b.mem.waiting = seq, &job{seq: seq, code: code}
		b.mu.Unlock()
	}
	b.s.mu.Unlock()
	if !known {
		b.todo <- job{seq: seq, code: code}
	}
	return nil
}

func (b *box) poke(sig string) {
	select {
	case b.signal <- sig:
	case <-b.ended:
	}
}

// awaitSave waits while the machine stands still to be saved.
func (b *box) awaitSave(ctx context.Context) error {
	b.mu.Lock()
	still := b.still
	b.mu.Unlock()
	if still == nil {
		return nil
	}
	select {
	case <-still:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *box) Interrupt(ctx context.Context, seq int) error {
	if err := b.awaitSave(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	runs := b.mem.running != nil && b.mem.running.seq == seq
	b.mu.Unlock()
	if runs {
		b.poke("interrupt")
	}
	return nil
}

func (b *box) Cancel(ctx context.Context, seq int) error {
	b.s.mu.Lock()
	takes := b.s.handTakes
	b.s.mu.Unlock()
	if err := stand(ctx, takes); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cancelled = append(b.cancelled, time.Now())
	if b.mem.waiting != nil && b.mem.waiting.seq == seq {
		b.mem.waiting = nil
	}
	return nil
}

func (b *box) Ack(seq, index int) { b.forget(seq, index) }

func (b *box) forget(seq, index int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mem.unacked = slices.DeleteFunc(b.mem.unacked, func(f machine.Frame) bool { return f.Seq == seq && f.Index <= index })
}

func (b *box) Checkpoint(ctx context.Context, goesOn func()) (machine.CheckpointInfo, error) {
	return b.save(ctx, goesOn, nil)
}

// save makes a checkpoint. ends, where it is not nil, says why the machine ends with it: what it
// says after its checkpoint nobody hears then, as the supervisor keeps it back.
func (b *box) save(ctx context.Context, goesOn func(), ends func(*machine.CheckpointInfo) machine.Cause) (machine.CheckpointInfo, error) {
	b.s.mu.Lock()
	takes, carry := max(b.s.saveTakes, b.s.slowToSave[b.id]), b.s.carryTakes
	b.s.mu.Unlock()
	if takes > 0 {
		over := make(chan struct{})
		b.mu.Lock()
		b.still = over
		b.mu.Unlock()
		time.Sleep(takes) // whether or not anybody waits for it
		b.mu.Lock()
		b.still = nil
		b.mu.Unlock()
		close(over)
	}
	info, err := b.put(ends)
	if err != nil {
		return info, err
	}
	if goesOn != nil {
		goesOn()
	}
	time.Sleep(carry)
	return info, ctx.Err() // too late is made all the same
}

func (b *box) put(ends func(*machine.CheckpointInfo) machine.Cause) (machine.CheckpointInfo, error) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if b.s.saveErr != nil {
		return machine.CheckpointInfo{}, b.s.saveErr
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	info := b.s.put(b.id, b.mem)
	if b.s.forged != 0 {
		info.LastSeq = b.s.forged
	}
	if ends != nil && !b.dead {
		b.dead, b.cause = true, ends(&info)
	}
	return info, nil
}

func (b *box) Stop(ctx context.Context) (machine.CheckpointInfo, error) {
	info, err := b.save(ctx, nil, func(made *machine.CheckpointInfo) machine.Cause {
		return machine.Cause{Kind: machine.EndedStopped, Checkpoint: made}
	})
	if err == nil {
		b.end(machine.Cause{})
	}
	return info, err
}

func (b *box) Kill() { b.end(machine.Cause{Kind: machine.EndedKilled}) }

// crash ends the sandbox as if its supervisor had died.
func (b *box) crash() {
	b.end(machine.Cause{Kind: machine.EndedBroken, Detail: "The supervisor of the machine ended unexpectedly."})
}

// thread has an effect while no instruction runs.
func (b *box) thread(effect string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mem.done = append(b.mem.done, effect)
}

// starve saves and ends the sandbox as its supervisor does when memory runs short.
func (b *box) starve(ownLimit bool) {
	detail := "The computer was running out of memory."
	if ownLimit {
		detail = "The machine took 3000 MiB of memory, more than the 2560 MiB that it may."
	}
	_, err := b.save(context.Background(), nil, func(made *machine.CheckpointInfo) machine.Cause {
		return machine.Cause{Kind: machine.EndedMemory, OwnLimit: ownLimit, Detail: detail, Checkpoint: made}
	})
	if err != nil {
		panic(err)
	}
	b.end(machine.Cause{}) // its cause is told already
}

func (b *box) end(cause machine.Cause) {
	b.mu.Lock()
	if !b.dead {
		b.dead, b.cause = true, cause
	}
	b.mu.Unlock()
	b.poke("end")
	<-b.ended
}

func (b *box) SetMemoryLimit(ctx context.Context, mb int) error {
	b.s.mu.Lock()
	takes := b.s.limitTakes
	if b.s.limiting != nil {
		close(b.s.limiting)
		b.s.limiting = nil
	}
	b.s.mu.Unlock()
	if err := stand(ctx, takes); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = mb
	return nil
}

func (b *box) Stats(context.Context) (machine.Stats, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return machine.Stats{MemoryBytes: 80 << 20, UsedBytes: b.used}, nil
}

func (b *box) Complete(context.Context, string, int) (machine.Completions, error) {
	return machine.Completions{}, nil
}
func (b *box) Inspect(context.Context, string, int, int) (machine.Inspection, error) {
	return machine.Inspection{}, nil
}
func (b *box) SaveTable(context.Context, machine.TableQuery, machine.TableFormat) (string, error) {
	return "", machine.Invalid("not here")
}

func (b *box) Table(context.Context, machine.TableQuery) (machine.Table, error) {
	return machine.Table{}, nil
}

// Variables are what has taken effect.
func (b *box) Variables(ctx context.Context, _ int) ([]machine.Variable, error) {
	b.s.mu.Lock()
	mute := b.s.mute
	b.s.mu.Unlock()
	if mute {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	all := []machine.Variable{}
	for _, effect := range b.mem.done {
		all = append(all, machine.Variable{Name: "i" + effect, Type: "int", Kind: "value"})
	}
	return all, nil
}

func (b *box) ReadFile(context.Context, string, int64, int) (machine.FileChunk, error) {
	return machine.FileChunk{}, nil
}
func (b *box) WriteFile(ctx context.Context, p machine.FilePiece) error {
	b.s.mu.Lock()
	takes := b.s.writeTakes
	b.s.mu.Unlock()
	if err := stand(ctx, takes); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dead {
		return &machine.Error{Kind: machine.ErrConflict, Message: "The machine is no longer in memory."}
	}
	b.mem.done = append(b.mem.done, fmt.Sprintf("%s+%d", p.Path, p.Offset))
	return nil
}
func (b *box) ListFiles(context.Context, string, int) (machine.FileList, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list machine.FileList
	for _, effect := range b.mem.done {
		if name, _, written := strings.Cut(effect, "+"); written {
			list.Entries = append(list.Entries, machine.FileEntry{Name: name, Kind: machine.FilePlain})
		}
	}
	return list, nil
}
func (b *box) StatFile(context.Context, string) (machine.FileEntry, error) {
	return machine.FileEntry{}, nil
}
func (b *box) RemoveFile(context.Context, string) error { return nil }
func (b *box) MakeFolder(context.Context, string) error { return nil }
func (b *box) Disk(context.Context) (machine.Disk, error) {
	return machine.Disk{Used: 1 << 20, Size: 5 << 30}, nil
}

func (b *box) over() bool {
	select {
	case <-b.ended:
		return true
	default:
		return false
	}
}
