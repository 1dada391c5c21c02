package output

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// The middle of a long output lies in a file of its own, one record after another:
//
//	uint32 big-endian  H  length of the header, at most 1 MiB
//	uint32 big-endian  P  length of the payload, at most 64 MiB
//	H bytes            header: overflowHeader as JSON
//	P bytes            text of an output, or the representations one after another
//
// How much of the file counts is written in the store, in the same write that removes the items
// from there. What a crash left beyond that is overwritten by the next append, so the file needs no
// recovery of its own.

const (
	maxOverflowHeader  = 1 << 20
	maxOverflowPayload = 64 << 20
)

type overflowHeader struct {
	Index      int              `json:"i"`
	Kind       machine.ItemKind `json:"k"`
	At         int64            `json:"t"` // Unix nanoseconds
	Stream     string           `json:"s,omitempty"`
	Background bool             `json:"b,omitempty"`
	DisplayID  string           `json:"d,omitempty"`
	Update     bool             `json:"u,omitempty"`
	Wait       bool             `json:"w,omitempty"`
	Forms      []formShape      `json:"m,omitempty"`
}

type formShape struct {
	MIME string `json:"m"`
	Size int    `json:"n"`
}

// Path is where an instruction's file lies under the output folder.
func Path(dir string, id machine.ID, seq int) string {
	return filepath.Join(Dir(dir, id), strconv.Itoa(seq)+".out")
}

// Dir is where a machine's files lie under the output folder.
func Dir(dir string, id machine.ID) string { return filepath.Join(dir, string(id)) }

// AppendRecord adds an item's record to buf.
func AppendRecord(buf []byte, it machine.Item) ([]byte, error) {
	h := overflowHeader{
		Index: it.Index, Kind: it.Kind, At: it.At.UnixNano(), Stream: it.Stream, Background: it.Background,
		DisplayID: it.DisplayID, Update: it.Update, Wait: it.Wait,
	}
	size := len(it.Text)
	for _, r := range it.Representations {
		h.Forms = append(h.Forms, formShape{r.MIME, len(r.Data)})
		size += len(r.Data)
	}
	header, err := json.Marshal(h)
	if err != nil {
		return buf, err
	}
	if len(header) > maxOverflowHeader || size > maxOverflowPayload {
		return buf, fmt.Errorf("an item of %d bytes is too large for the overflow file", size)
	}
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(header)))
	buf = binary.BigEndian.AppendUint32(buf, uint32(size))
	buf = append(buf, header...)
	buf = append(buf, it.Text...)
	for _, r := range it.Representations {
		buf = append(buf, r.Data...)
	}
	return buf, nil
}

// WriteFile writes records at an offset, making the file and its folder.
func WriteFile(path string, offset int64, records []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(records, offset)
	return errors.Join(err, f.Close())
}

// ReadFile calls yield with the items of index >= from that lie in the first length bytes, in
// order, until yield says no. Items before from are skipped without being read.
func ReadFile(path string, length int64, from int, yield func(it machine.Item, offset int64) bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	r := bufio.NewReaderSize(io.NewSectionReader(f, 0, length), 64<<10)
	var offset int64
	for offset < length {
		var sizes [8]byte
		if _, err := io.ReadFull(r, sizes[:]); err != nil {
			return fmt.Errorf("overflow file %s: %w", path, err)
		}
		hl, pl := binary.BigEndian.Uint32(sizes[:4]), binary.BigEndian.Uint32(sizes[4:])
		if hl > maxOverflowHeader || pl > maxOverflowPayload || int64(hl)+int64(pl) > length-offset-8 {
			return fmt.Errorf("overflow file %s is damaged at byte %d", path, offset)
		}
		header := make([]byte, hl)
		if _, err := io.ReadFull(r, header); err != nil {
			return fmt.Errorf("overflow file %s: %w", path, err)
		}
		var h overflowHeader
		if err := json.Unmarshal(header, &h); err != nil {
			return fmt.Errorf("overflow file %s at byte %d: %w", path, offset, err)
		}
		if h.Index < from {
			if _, err := r.Discard(int(pl)); err != nil {
				return fmt.Errorf("overflow file %s: %w", path, err)
			}
		} else {
			payload := make([]byte, pl)
			if _, err := io.ReadFull(r, payload); err != nil {
				return fmt.Errorf("overflow file %s: %w", path, err)
			}
			it, err := h.item(payload)
			if err != nil {
				return fmt.Errorf("overflow file %s at byte %d: %w", path, offset, err)
			}
			if !yield(it, offset) {
				return nil
			}
		}
		offset += 8 + int64(hl) + int64(pl)
	}
	return nil
}

func (h overflowHeader) item(payload []byte) (machine.Item, error) {
	it := machine.Item{
		Index: h.Index, Kind: h.Kind, At: time.Unix(0, h.At).UTC(), Stream: h.Stream, Background: h.Background,
		DisplayID: h.DisplayID, Update: h.Update, Wait: h.Wait,
	}
	if h.Kind == machine.ItemOutput {
		it.Text = payload
		return it, nil
	}
	for _, m := range h.Forms {
		if m.Size < 0 || m.Size > len(payload) {
			return it, errors.New("the lengths do not fit")
		}
		it.Representations = append(it.Representations, machine.Representation{MIME: m.MIME, Data: payload[:m.Size:m.Size]})
		payload = payload[m.Size:]
	}
	return it, nil
}

// CopyFile gives a fork its own copy of what lies before item end, and returns its length.
func CopyFile(from, to string, length int64, end int) (int64, error) {
	cut, err := LengthBefore(from, length, end)
	if err != nil || cut == 0 {
		return 0, err
	}
	in, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer func() { _ = in.Close() }()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return 0, err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(out, io.LimitReader(in, cut))
	return cut, errors.Join(err, out.Close())
}

// LengthBefore is how many of the first length bytes of an overflow file hold what lies before item
// end.
func LengthBefore(path string, length int64, end int) (int64, error) {
	before := length
	err := ReadFile(path, length, end, func(_ machine.Item, offset int64) bool { before = offset; return false })
	if errors.Is(err, os.ErrNotExist) && length == 0 {
		return 0, nil
	}
	return before, err
}
