// Package carry is what the engines share whose machines are kept where the disk of this computer
// is not: in containers, and in the pods of a cluster. A machine saves itself there. Each
// checkpoint is carried home, to package local's folders, before anybody hears of it.
//
// What comes from there may be anything: code in a machine may have broken out of its sandbox. So a
// checkpoint is taken only where it is of the machine's life and parts, and is no larger than it
// can be.
package carry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
)

// Content is what a container was given to make checkpoints of, and for which life.
type Content struct {
	Image, Runtime string // digests
	Life           string // its tag
}

// ContentOf is the content of a container with these parts.
func ContentOf(p local.Parts, life string) Content {
	return Content{Image: p.ImageDigest, Runtime: p.RuntimeDigest, Life: LifeTag(life)}
}

// LifeTag stands for a life where there is little room.
func LifeTag(life string) string {
	sum := sha256.Sum256([]byte(life))
	return hex.EncodeToString(sum[:6])
}

// MostCheckpoints is how many checkpoints are taken from a container at once.
const MostCheckpoints = 16

// several is how many times the most that one checkpoint can have all of a container's may have.
const several = 4

// packing is how many bytes an archive may have beyond its files' content.
const packing = 1 << 20

// Home unpacks an archive of the checkpoint id, or of all where id is empty, unless they are there
// already. memory is the machine's limit in bytes, 0 for none. What is no checkpoint of that
// content is checkpoint.ErrUnusable.
func Home(ctx context.Context, archive io.Reader, to checkpoint.Folder, id string, memory int64, of Content) error {
	bound := most(memory)
	if id == "" {
		bound *= several
	}
	_, err := to.Unpack(ctx, &capped{archive, bound + packing}, bound, of.accepts())
	return err
}

// most is how many bytes a checkpoint can have: all that the machine may write, and hold in memory.
func most(memory int64) int64 {
	const disk, unlimited = 20 << 30, 256 << 30
	if memory == 0 {
		memory = unlimited
	}
	return sandbox.HardLimit(memory) + disk
}

// accepts has the last word on a checkpoint that came from a container.
func (c Content) accepts() func(checkpoint.Manifest) error {
	left := MostCheckpoints
	return func(m checkpoint.Manifest) error {
		left--
		switch {
		case LifeTag(m.Life) != c.Life:
			return fmt.Errorf("%w: it is of another life", checkpoint.ErrUnusable)
		case m.Image != c.Image || m.Runtime != c.Runtime:
			return fmt.Errorf("%w: it is of other parts", checkpoint.ErrUnusable)
		case left < 0:
			return fmt.Errorf("%w: there are more than a machine leaves", checkpoint.ErrUnusable)
		}
		return nil
	}
}

// NotOfMachine is the error of a container that gave out something else than asked for.
func NotOfMachine(err error) error {
	return &machine.Error{Kind: machine.ErrUnavailable, Message: "The container gave out something that is no saved state of its machine.", Cause: err}
}

// capped ends an archive that is larger than it can be, whatever it consists of.
type capped struct {
	r    io.Reader
	left int64
}

func (b *capped) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("%w: its archive does not end", checkpoint.ErrUnusable)
	}
	return n, err
}
