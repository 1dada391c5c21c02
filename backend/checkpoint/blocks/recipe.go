package blocks

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Version is that of packs and recipes.
const Version = 1

const maxRecipe = 256 << 10

// Recipe is what files are made of.
type Recipe struct {
	Version int    `json:"version"`
	Files   []File `json:"files"`
	// Stored is how many bytes putting them added to the store.
	Stored int64 `json:"stored"`
	// Meta is the owner's.
	Meta json.RawMessage `json:"meta,omitempty"`
}

// File is one of a recipe's.
type File struct {
	Name string `json:"name"` // without a folder
	Size int64  `json:"size"`
	List ID     `json:"list"` // the block that holds its list; zero where Size is 0
}

// units is how many blocks a file has.
func (f *File) units() int { return unitsOf(f.Size) }

func unitsOf(size int64) int { return int((size + Unit - 1) / Unit) }

// MarshalText writes an ID in hexadecimal.
func (id ID) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(id[:])), nil }

// UnmarshalText reads an ID in hexadecimal.
func (id *ID) UnmarshalText(b []byte) error {
	if len(b) != 2*len(id) {
		return errors.New("no name of a block")
	}
	_, err := hex.Decode(id[:], b)
	return err
}

// ReadRecipe reads a recipe's file. What is damaged is ErrDamaged, what a newer program wrote
// ErrVersion.
func ReadRecipe(path string) (Recipe, error) {
	f, err := os.Open(path)
	if err != nil {
		return Recipe{}, refused("the recipe "+path, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxRecipe+1))
	if err != nil {
		return Recipe{}, refused("the recipe "+path, err)
	}
	r, err := ParseRecipe(b)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return r, err
}

// ParseRecipe reads and checks a recipe: a line of JSON, and one of its BLAKE3 in hexadecimal.
func ParseRecipe(b []byte) (Recipe, error) {
	var r Recipe
	text, sum, ok := bytes.Cut(b, []byte("\n"))
	id := idOf(text)
	if len(b) > maxRecipe || !ok || string(sum) != hex.EncodeToString(id[:])+"\n" {
		return r, damaged("the recipe has changed")
	}
	if err := json.Unmarshal(text, &r); err != nil && r.Version <= Version {
		return r, damaged("the recipe is none: %v", err)
	}
	switch {
	case r.Version > Version:
		return Recipe{}, fmt.Errorf("the recipe: %w", ErrVersion)
	case r.Version != Version:
		return r, damaged("the recipe is of version %d", r.Version)
	}
	names := map[string]bool{}
	for i := range r.Files {
		f := &r.Files[i]
		if f.Name == "" || f.Name == "." || f.Name == ".." || f.Name != filepath.Base(f.Name) || names[f.Name] || f.Size < 0 || f.Size > maxUnits*Unit {
			return r, damaged("the recipe has the file %.100q of %d bytes", f.Name, f.Size)
		}
		names[f.Name] = true
	}
	if r.Stored < 0 {
		return r, damaged("the recipe has %d bytes", r.Stored)
	}
	return r, nil
}

// write makes the recipe durable and visible at path, on the same file system as the store.
func (s *Store) write(r Recipe, path string) (err error) {
	r.Version = Version
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	sum := idOf(text)
	text = append(append(text, '\n'), hex.EncodeToString(sum[:])+"\n"...)
	if len(text) > maxRecipe {
		return fmt.Errorf("a recipe of %d bytes", len(text))
	}
	temporary := filepath.Join(s.dir, newName()+unfinished)
	f, err := s.disk.Create(temporary)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil { // packs that it needs may be those of one who has died before he did this
		err = s.disk.SyncDir(s.dir)
	}
	if err == nil {
		err = s.disk.Rename(temporary, path)
	}
	if err != nil {
		return errors.Join(err, s.disk.Remove(temporary))
	}
	return s.disk.SyncDir(filepath.Dir(path))
}

// Link writes a recipe of the same files as the one at from to the file at to, with meta of its
// own.
func (s *Store) Link(ctx context.Context, from, to string, meta json.RawMessage) (Recipe, error) {
	release, err := s.share(ctx)
	if err != nil {
		return Recipe{}, err
	}
	defer release()
	r, err := ReadRecipe(from)
	if err != nil {
		return r, err
	}
	r.Meta, r.Stored = meta, 0
	return r, s.write(r, to)
}
