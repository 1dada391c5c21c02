package checkpoint

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"lukechampine.com/blake3"
)

// Seal notes a digest of the files of a whole checkpoint, so that a bit that flips on the disk does not go unseen. It reads all of them, which may
// wait until nobody does. Of one that has a digest, or is not synced and so lives on by its blocks, nothing changes.
func (f Folder) Seal(ctx context.Context, id string) error {
	m, err := Load(f.Path(id))
	if err != nil || m.Digest != "" || m.Boot != "" {
		return err
	}
	if m.Digest, err = f.digest(ctx, id); err != nil {
		return err
	}
	m.Sealed = thisBoot()
	return f.replace(m)
}

// Compare reads the files of a whole checkpoint, and fails with ErrUnusable where they are not those that were sealed. Of one without a digest it
// tells nothing.
func (f Folder) Compare(ctx context.Context, id string) error {
	m, err := Load(f.Path(id))
	if err != nil || m.Digest == "" {
		return err
	}
	digest, err := f.digest(ctx, id)
	if err == nil && digest != m.Digest {
		err = fmt.Errorf("%w: the files of checkpoint %s have changed since they were written", ErrUnusable, id)
	}
	return err
}

// Aged says whether the files of a checkpoint have to come from the disk, which may have changed them: the system has been started anew since they
// were sealed.
func (m *Manifest) Aged() bool { return m.Digest != "" && m.Sealed != thisBoot() }

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
	if err := regular(path); err != nil {
		return err
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	_, _ = h.Write(binary.LittleEndian.AppendUint64(append([]byte(name), 0), uint64(info.Size()))) // a digest takes everything
	_, err = io.CopyBuffer(h, struct{ io.Reader }{contextReader{ctx, in}}, buffer)
	return err
}
