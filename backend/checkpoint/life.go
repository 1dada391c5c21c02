package checkpoint

import (
	"errors"
	"os"
	"slices"
)

// Unrecorded sorts what a life left behind that is not among the known: the newest, if no known one
// of that life is newer, and what was superseded before anybody heard of it. A life is one stay in
// memory; anyone who begins it names it, and its checkpoints carry the name, so that after a rewind
// those of other lives, which may be newer than the one that the machine went back to, are not
// taken for its own. "" is nobody's life.
func (f Folder) Unrecorded(life string, known []string) (newest *Manifest, superseded []Manifest, err error) {
	if life == "" {
		return nil, nil, nil
	}
	all, err := f.List()
	if err != nil {
		return nil, nil, err
	}
	for _, m := range all {
		switch {
		case m.Life != life:
		case slices.Contains(known, m.ID):
			if newest != nil {
				superseded, newest = append(superseded, *newest), nil
			}
		default:
			if newest != nil {
				superseded = append(superseded, *newest)
			}
			newest = &m
		}
	}
	return newest, superseded, nil
}

func writeSync(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}
