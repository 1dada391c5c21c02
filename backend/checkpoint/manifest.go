// Package checkpoint is how saved machines lie on disk.
//
// A checkpoint is one folder, named by its id, of files that never change once it is there: what
// runsc wrote (checkpoint.img, pages.img, pages_meta.img), input.bin (the rest of a request that
// was only partly with the runner; only where there was one), pages.sum (what pages.img is checked
// against) and manifest.json. It is written under the name ID.partial, synced, given its manifest,
// synced again and renamed: a folder without the suffix is whole, whatever happened. What ends in
// .partial or .removed is rubbish, swept when the machine starts next. One of a machine that goes
// on is not synced; Manifest.Boot says so.
package checkpoint

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lukechampine.com/blake3"

	"github.com/forevervm/desktop/backend/checkpoint/blocks"
)

// Format is the version of the layout and of the manifest.
const Format = 1

const (
	manifestName = "manifest.json"
	// InputName is the file of the rest of a request.
	InputName   = "input.bin"
	maxManifest = 64 << 10
	maxFeatures = 16 << 10
)

// ErrUnusable marks a checkpoint that is missing, damaged or of a format that is not known.
var ErrUnusable = errors.New("checkpoint unusable")

// Manifest describes one checkpoint. It is the last file to be written.
type Manifest struct {
	Format    int       `json:"format"`
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"created_at"`
	// Life names the time in memory that it was made in; see Folder.Unrecorded.
	Life string `json:"life"`
	// LastSeq is the highest instruction whose effect or beginning is in it; -1 for none.
	LastSeq    int   `json:"last_seq"`
	RunningSeq *int  `json:"running_seq"`
	Size       int64 `json:"size"` // bytes of all files but the manifest
	// Image and Runtime are the SHA-256 of the sandbox image and of runsc; Spec names the sandbox's
	// base spec. A restore needs the same.
	Image   string `json:"image"`
	Runtime string `json:"runtime"`
	Spec    string `json:"spec"`
	// Features are those of the processor that the sandbox goes by, as gVisor calls them, separated
	// by commas; a restore needs a processor that has them. "" where that is not known.
	Features string `json:"features,omitempty"`
	// Baseline is how much memory the programs inside held in the template, in bytes: what a
	// machine uses counts from there.
	Baseline int64         `json:"baseline"`
	Pause    time.Duration `json:"pause_ns"` // how long the machine stood still at most
	// Boot names the run of the computer's system in which the files were written without being
	// synced, and in which alone they can be relied on; "" for files that are synced.
	Boot string `json:"boot,omitempty"`
	// Sums are the BLAKE3 of all files but the memory's, in hexadecimal; see sums.go. nil in what
	// an earlier version saved, and in what is kept as blocks, which are named by their content.
	Sums map[string]string `json:"sums,omitempty"`
	// Digest is that of all files; "" for none. Earlier versions noted it some time after the files
	// were written.
	Digest string `json:"digest,omitempty"`
	// Check is the BLAKE3 of the manifest's file with zeros in the place of it. It is only ever in
	// the file.
	Check string `json:"check,omitempty"`

	// Whole is how many bytes all files but the manifest have, whatever form they are kept in. It
	// is known where Size is, and stands in no file.
	Whole int64 `json:"-"`
}

// Load reads and checks the manifest of the checkpoint in dir, whose name must be its id.
func Load(dir string) (Manifest, error) {
	m, err := LoadAt(dir)
	switch {
	case err != nil:
	case m.ID != filepath.Base(dir):
		err = fmt.Errorf("%w: %s holds the checkpoint %q", ErrUnusable, dir, m.ID)
	case m.Boot != "" && m.Boot != thisBoot():
		err = fmt.Errorf("%w: %s was not on the disk yet when the computer stopped", ErrUnusable, dir)
	}
	return m, err
}

// LoadAt is Load for a checkpoint that is shown under another name.
func LoadAt(dir string) (Manifest, error) {
	path := filepath.Join(dir, manifestName)
	if err := regular(path); err != nil { // to open a pipe would take for ever
		return Manifest{}, unreadable(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return Manifest{}, unreadable(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return Manifest{}, unreadable(err)
	}
	m, err := parseFile(b)
	if err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", dir, err)
	}
	return m, nil
}

// unchecked stands in the place of a manifest's own digest while that is computed.
var unchecked = strings.Repeat("0", 64)

// parseFile is Parse of a file, which must be as it was written.
func parseFile(b []byte) (Manifest, error) {
	m, err := Parse(b)
	switch {
	case err != nil:
		return m, err
	case m.Check == "" && m.Sums == nil: // of an earlier version
		return m, nil
	case len(m.Check) != len(unchecked) || digestOf(withCheck(b, m.Check, unchecked)) != m.Check:
		return Manifest{}, changed(manifestName, "")
	}
	m.Check = ""
	return m, nil
}

// withCheck puts a manifest's own digest in the place of another.
func withCheck(b []byte, old, check string) []byte {
	const key = `"check": "`
	return bytes.Replace(b, []byte(key+old), []byte(key+check), 1)
}

func digestOf(b []byte) string {
	sum := blake3.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Parse reads and checks a manifest.
func Parse(b []byte) (Manifest, error) {
	m := Manifest{LastSeq: -1}
	if len(b) > maxManifest {
		return m, fmt.Errorf("%w: a manifest of %d bytes", ErrUnusable, len(b))
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("%w: manifest: %w", ErrUnusable, err)
	}
	switch {
	case m.Format > Format:
		return m, fmt.Errorf("%w: format %d: %w", ErrUnusable, m.Format, blocks.ErrVersion)
	case m.Format != Format:
		return m, fmt.Errorf("%w: format %d, this program knows %d", ErrUnusable, m.Format, Format)
	case !ValidID(m.ID):
		return m, fmt.Errorf("%w: the id %.64q", ErrUnusable, m.ID)
	case len(m.Life) > 64 || len(m.Boot) > 64 || len(m.Digest) > 64 || len(m.Check) > 64:
		return m, fmt.Errorf("%w: the life %.64q", ErrUnusable, m.Life)
	case len(m.Features) > maxFeatures:
		return m, fmt.Errorf("%w: a processor with %d bytes of features", ErrUnusable, len(m.Features))
	case m.LastSeq < -1 || m.Size < 0 || m.Pause < 0 || m.RunningSeq != nil && *m.RunningSeq < 0:
		return m, fmt.Errorf("%w: numbers out of bounds", ErrUnusable)
	}
	m.Whole = m.Size
	return m, nil
}

func (m Manifest) write(dir string) error { return m.writeTo(filepath.Join(dir, manifestName)) }

func (m Manifest) writeTo(path string) error {
	m.Check = unchecked
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	b = append(b, '\n')
	b = withCheck(b, unchecked, digestOf(b))
	if m.Boot != "" {
		return os.WriteFile(path, b, 0o600)
	}
	return writeSync(path, b)
}
