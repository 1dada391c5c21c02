package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/forevervm/desktop/backend/checkpoint/blocks"
)

// File is a file of a checkpoint, and how many bytes it has.
type File struct {
	Name string
	Size int64
}

// Files are those of the checkpoint whose folder is dir, but for the manifest.
func Files(dir string) ([]File, error) {
	var found []File
	for _, name := range files {
		size, err := sizeOf(filepath.Join(dir, name))
		if name == InputName && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
		}
		found = append(found, File{name, size})
	}
	return found, nil
}

// Complete says whether these are the names of all files that a checkpoint has.
func Complete(names []string) bool {
	without := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == InputName })
	slices.Sort(without)
	wanted := slices.DeleteFunc(slices.Clone(files), func(name string) bool { return name == InputName })
	slices.Sort(wanted)
	return len(names)-len(without) <= 1 && slices.Equal(without, wanted)
}

// Fill writes a file of the checkpoint: size bytes, which is all that content may have. What is
// zero in it takes no room.
func (p *Pending) Fill(ctx context.Context, file File, content io.Reader) (err error) {
	if !isFile(file.Name) || file.Size < 0 {
		return fmt.Errorf("%w: it has the file %.100q", ErrUnusable, file.Name)
	}
	f, err := os.OpenFile(filepath.Join(p.Dir, file.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buffer := make([]byte, 1<<20)
	for left := file.Size; left > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := buffer[:min(left, int64(len(buffer)))]
		if _, err := io.ReadFull(content, b); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = fmt.Errorf("%w: %s is shorter than it was said to be", ErrUnusable, file.Name)
			}
			return err
		}
		if err := writeSparse(f, b, file.Size-left); err != nil {
			return err
		}
		left -= int64(len(b))
	}
	if n, err := content.Read(buffer[:1]); n != 0 || !errors.Is(err, io.EOF) {
		return errors.Join(fmt.Errorf("%w: %s is longer than it was said to be", ErrUnusable, file.Name), err)
	}
	return f.Truncate(file.Size)
}

// writeSparse writes b at an offset, except for whole pages of zeros.
func writeSparse(f io.WriterAt, b []byte, offset int64) error {
	for len(b) > 0 {
		n := 0 // how much of b is to be written as one
		for n < len(b) {
			page := b[n:min(n+blocks.Unit, len(b))]
			if bytes.Equal(page, zeros[:len(page)]) {
				break
			}
			n += len(page)
		}
		if n > 0 {
			if _, err := f.WriteAt(b[:n], offset); err != nil {
				return err
			}
		} else {
			n = min(blocks.Unit, len(b))
		}
		b, offset = b[n:], offset+int64(n)
	}
	return nil
}

var zeros = make([]byte, blocks.Unit)
