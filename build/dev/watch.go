package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long all must be quiet: an editor or git changes several files at once.
const settle = 200 * time.Millisecond

// watch watches the sources in a folder. The caller closes the watcher.
func watch(folder string) (*fsnotify.Watcher, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := watchAll(watcher, folder); err != nil {
		_ = watcher.Close()
		return nil, err
	}
	return watcher, nil
}

// follow sends to changes when sources have changed, until ctx ends. Changes that come while one
// waits in the channel, which holds one, are the same to the reader.
func follow(ctx context.Context, watcher *fsnotify.Watcher, changes chan<- struct{}) error {
	var settled <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-watcher.Errors:
			return err
		case event := <-watcher.Events:
			if event.Has(fsnotify.Create) {
				if err := watchAll(watcher, event.Name); err != nil {
					return err
				}
			}
			if event.Op != fsnotify.Chmod && isSource(event.Name) {
				settled = time.After(settle)
			}
		case <-settled:
			select {
			case changes <- struct{}{}:
			default:
			}
		}
	}
}

// watchAll watches a folder and those in it. For a file, or for what has gone again, it does
// nothing.
func watchAll(watcher *fsnotify.Watcher, folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			// The runner is in the image and not in the daemon: `make image` builds it.
			if entry.Name() == "runner" || entry.Name() == "testdata" {
				return fs.SkipDir
			}
			err = watcher.Add(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// isSource says whether programs are compiled from a file or have it in them. A folder, which has
// no extension, is one: files may have come with it.
func isSource(path string) bool {
	return slices.Contains([]string{"", ".go", ".json", ".py", ".sql", ".yaml"}, filepath.Ext(path)) && !strings.HasSuffix(path, "_test.go")
}
