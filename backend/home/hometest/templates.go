// Package hometest lets tests share what engines make once, and what takes seconds each time: the
// templates of new machines, and the digests of the programs and images that they are of.
package hometest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// In an engine's data folder, see package engine/local.
const (
	templates = "templates"
	digests   = "digests.json"
)

// Lend gives a data folder the templates and digests that tests before this one have left in the
// folder of the built programs' cache, if any. What the engine finds of no use it replaces.
func Lend(data string) error {
	bin, err := folder()
	if err != nil {
		return err
	}
	return errors.Join(copyAll(kept(bin, templates), filepath.Join(data, templates)), copyAll(kept(bin, digests), filepath.Join(data, digests)))
}

// Take keeps the templates and digests of a data folder, which nobody uses any more, for tests to
// come.
func Take(data string) error {
	bin, err := folder()
	if err != nil {
		return err
	}
	made, err := filepath.Glob(filepath.Join(data, templates, "*", "checkpoints", "*", "manifest.json"))
	if err != nil {
		return err
	}
	cache := kept(bin, templates)
	for _, manifest := range made {
		whole := filepath.Dir(manifest)
		key := filepath.Base(filepath.Dir(filepath.Dir(whole)))
		if _, err := os.Stat(filepath.Join(cache, key)); err == nil {
			continue
		}
		if err := take(cache, key, whole); err != nil {
			return err
		}
	}
	return takeDigests(bin, filepath.Join(data, digests))
}

// takeDigests keeps the digests of what was built, and not those of what tests made: they would
// pile up.
func takeDigests(bin, from string) error {
	content, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	known := map[string]json.RawMessage{}
	if err := json.Unmarshal(content, &known); err != nil {
		return err
	}
	for path := range known {
		if dir := filepath.Dir(path); dir != bin && dir != filepath.Join(bin, "image") {
			delete(known, path)
		}
	}
	if content, err = json.Marshal(known); err != nil {
		return err
	}
	cache := kept(bin, digests)
	if old, err := os.ReadFile(cache); err == nil && bytes.Equal(old, content) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(cache), 0o700); err != nil {
		return err
	}
	pending, err := os.CreateTemp(filepath.Dir(cache), "digests-")
	if err != nil {
		return err
	}
	_, err = pending.Write(content)
	if err = errors.Join(err, pending.Close()); err == nil {
		err = os.Rename(pending.Name(), cache)
	}
	if err != nil {
		_ = os.Remove(pending.Name())
	}
	return err
}

// take makes a template the only one that is kept: others are of earlier programs.
func take(cache, key, whole string) error {
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return err
	}
	others, err := os.ReadDir(cache)
	if err != nil {
		return err
	}
	pending, err := os.MkdirTemp(filepath.Dir(cache), "template-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(pending)
	if err := copyAll(whole, filepath.Join(pending, "checkpoints", filepath.Base(whole))); err != nil {
		return err
	}
	if err := os.Rename(pending, filepath.Join(cache, key)); err != nil {
		if _, there := os.Stat(filepath.Join(cache, key)); there == nil { // of another test
			return nil
		}
		return err
	}
	for _, other := range others {
		err = errors.Join(err, os.RemoveAll(filepath.Join(cache, other.Name())))
	}
	return err
}

// kept is where something lies between tests: beside the programs that made it.
func kept(bin, name string) string { return filepath.Join(bin, "..", "cache", "test-"+name) }

// copyAll gives a file, or all files in a folder, another name; where that is not possible, it
// copies. Without the file or folder it does nothing.
func copyAll(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		if err := os.Link(path, target); err == nil || errors.Is(err, fs.ErrExist) {
			return nil
		}
		content, err := os.ReadFile(path) // they are on two file systems
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o600)
	})
}
