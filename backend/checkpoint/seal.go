package checkpoint

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"lukechampine.com/blake3"
)

// Seal notes what the files of a checkpoint are to be checked against that an earlier version
// saved, which did not.
func (f Folder) Seal(ctx context.Context, id string) error {
	m, err := Load(f.Path(id))
	if err != nil || m.Sums != nil || m.Digest != "" || m.Boot != "" {
		return err
	}
	if err := m.sum(ctx, f.Path(id)); err != nil {
		return err
	}
	if m.Sums[sumsName] != "" {
		if _, err := syncFile(filepath.Join(f.Path(id), sumsName)); err != nil {
			return err
		}
	}
	return f.replace(m)
}

// Compare reads the files of a whole checkpoint, and fails with ErrUnusable where they are not
// those that were saved. Of one that an earlier version saved and nobody has sealed it tells
// nothing.
func (f Folder) Compare(ctx context.Context, id string) error {
	m, err := Load(f.Path(id))
	switch {
	case err != nil:
		return err
	case m.Sums != nil:
		return m.checkAll(ctx, f.Path(id))
	case m.Digest == "":
		return nil
	}
	digest, err := f.digest(ctx, id)
	if err == nil && digest != m.Digest {
		err = fmt.Errorf("%w: the files of checkpoint %s have changed since they were written", ErrUnusable, id)
	}
	return err
}

// digest is the BLAKE3 of the names, lengths and bytes of a checkpoint's files, in hexadecimal.
func (f Folder) digest(ctx context.Context, id string) (string, error) {
	h := blake3.New(32, nil)
	buffer := make([]byte, 1<<20)
	for _, name := range files {
		err := digestFile(ctx, h, filepath.Join(f.Path(id), name), name, buffer)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func digestFile(ctx context.Context, h io.Writer, path, name string, buffer []byte) error {
	in, size, err := open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	_, _ = h.Write(binary.LittleEndian.AppendUint64(append([]byte(name), 0), uint64(size))) // a digest takes everything
	_, err = io.CopyBuffer(h, struct{ io.Reader }{contextReader{ctx, in}}, buffer)
	return err
}
