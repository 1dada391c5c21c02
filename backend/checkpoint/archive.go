package checkpoint

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// files are those that a checkpoint can have beside its manifest.
var files = []string{"checkpoint.img", pagesName, "pages_meta.img", InputName}

// pagesName is the file with the machine's memory, by far the largest.
const pagesName = "pages.img"

func isFile(name string) bool { return slices.Contains(files, name) }

// packed are the files of a checkpoint in an archive, the manifest last.
func packed() []string { return append(slices.Clone(files), sumsName, manifestName) }

// Pack writes the checkpoint id, whose files must be there, as a tar archive: a folder of that
// name, owned by the user and group with the number owner.
func (f Folder) Pack(ctx context.Context, id string, owner int, w io.Writer) error {
	if _, err := f.Load(id); err != nil {
		return err
	}
	archive := tar.NewWriter(w)
	header := func(typ byte, name string, mode, size int64) error {
		return archive.WriteHeader(&tar.Header{Typeflag: typ, Name: name, Mode: mode, Size: size, Uid: owner, Gid: owner})
	}
	if err := header(tar.TypeDir, id+"/", 0o700, 0); err != nil {
		return err
	}
	for _, name := range packed() {
		path := filepath.Join(f.Path(id), name)
		if _, err := os.Lstat(path); (name == InputName || name == sumsName) && errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := regular(path); err != nil {
			return fmt.Errorf("%w: %w", ErrUnusable, err)
		}
		if err := pack(ctx, archive, path, func(size int64) error { return header(tar.TypeReg, id+"/"+name, 0o600, size) }); err != nil {
			return err
		}
	}
	return archive.Close()
}

func pack(ctx context.Context, archive *tar.Writer, path string, header func(size int64) error) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := header(info.Size()); err != nil {
		return err
	}
	_, err = io.Copy(archive, contextReader{ctx, in})
	return err
}

// Unpack takes over the checkpoints in a tar archive, each a folder named by its id, that may come
// from who means harm: nothing but what belongs to a checkpoint is written, at most `most` bytes,
// and accept has the last word on each. Those that the folder has already stay as they are. It
// returns those taken over; an error leaves the ones before it in place.
func (f Folder) Unpack(ctx context.Context, archive io.Reader, most int64, accept func(Manifest) error) (taken []Manifest, err error) {
	u := unpacking{folder: f, left: most, accept: accept}
	defer func() {
		if u.pending != nil {
			err = errors.Join(err, u.pending.Abort())
		}
	}()
	for r := tar.NewReader(contextReader{ctx, archive}); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return u.taken, u.finish()
		}
		if err != nil {
			return u.taken, fmt.Errorf("read the archive of checkpoints: %w", err)
		}
		if err := u.next(h, r); err != nil {
			return u.taken, err
		}
	}
}

// unpacking is an archive being read.
type unpacking struct {
	folder Folder
	left   int64 // how many bytes may still come
	accept func(Manifest) error

	pending  *Pending
	manifest Manifest // of pending; no id until it has come
	skipped  string   // id of one that is there already
	taken    []Manifest
}

// next takes one entry of the archive.
func (u *unpacking) next(h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeDir {
		return nil // those that are needed are made
	}
	id, name := path.Base(path.Dir(h.Name)), path.Base(h.Name)
	if !ValidID(id) || h.Typeflag != tar.TypeReg || !slices.Contains(packed(), name) {
		return fmt.Errorf("%w: its archive has the entry %.100q", ErrUnusable, h.Name)
	}
	if u.skipped == id {
		return nil
	}
	if u.pending == nil || u.pending.id != id {
		if err := u.finish(); err != nil {
			return err
		}
		for _, there := range []string{u.folder.Path(id), u.folder.Recipe(id)} {
			if _, err := os.Lstat(there); err == nil {
				u.skipped = id
				return nil
			}
		}
		var err error
		if u.pending, err = u.folder.Begin(id); err != nil {
			return err
		}
	}
	if u.left -= h.Size; u.left < 0 {
		return fmt.Errorf("%w: it is larger than a machine can be", ErrUnusable)
	}
	if name != manifestName {
		return u.write(name, content)
	}
	b, err := io.ReadAll(io.LimitReader(content, maxManifest+1))
	if err != nil {
		return err
	}
	u.manifest, err = parseFile(b)
	return err
}

func (u *unpacking) write(name string, content io.Reader) error {
	f, err := os.OpenFile(filepath.Join(u.pending.Dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// finish takes over the one that has come whole.
func (u *unpacking) finish() error {
	p, m := u.pending, u.manifest
	if p == nil {
		return nil
	}
	if m.ID != p.id {
		return fmt.Errorf("%w: %s came without its manifest", ErrUnusable, p.id)
	}
	if err := u.accept(m); err != nil {
		return err
	}
	m, err := p.Commit(m)
	if err != nil {
		return err
	}
	u.pending, u.manifest = nil, Manifest{}
	u.taken = append(u.taken, m)
	return nil
}
