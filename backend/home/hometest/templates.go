// Package hometest lets tests share what engines make once: the templates of new machines, each of which takes seconds.
package hometest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// templates is the folder in an engine's data folder, see package engine/local.
const templates = "templates"

// Lend gives a data folder the templates that tests before this one have left in the folder of the built programs' cache, if any. What the engine finds of no
// use it replaces.
func Lend(data string) error {
	cache, err := cache()
	if err != nil {
		return err
	}
	return copyAll(cache, filepath.Join(data, templates))
}

// Take keeps the templates of a data folder, which nobody uses any more, for tests to come.
func Take(data string) error {
	cache, err := cache()
	if err != nil {
		return err
	}
	made, err := filepath.Glob(filepath.Join(data, templates, "*", "checkpoints", "*", "manifest.json"))
	if err != nil {
		return err
	}
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
	return nil
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

// began is where the tests of a package start: in its folder.
var began, _ = os.Getwd()

// cache is where templates lie between tests: beside the programs that made them.
func cache() (string, error) {
	bin := os.Getenv("FOREVERVM_BIN")
	if bin == "" {
		dir := began
		for {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				break
			}
			up := filepath.Dir(dir)
			if up == dir {
				return "", errors.New("this is no checkout")
			}
			dir = up
		}
		bin = filepath.Join(dir, "build", "bin")
	}
	return filepath.Join(bin, "..", "cache", "test-"+templates), nil
}

// copyAll gives the folder to the files of another, as other names of theirs where that is possible. Without the other it does nothing.
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
