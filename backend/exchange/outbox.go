package exchange

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// Collect brings what is new in a machine's outbox to its folder in Results. What the person has
// changed there since is left to them: the new one then gets a number. Nothing is ever removed
// there.
func (f *Folder) Collect(ctx context.Context, m machine.Machine, files machine.Files) (notice string, err error) {
	p := f.peer(m.ID)
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := refusals{}
	there, err := inside(ctx, files, Outbox, kept.refuse)
	if err != nil {
		return "", err
	}
	earlier := p.earlier()
	fresh := slices.Sorted(maps.Keys(there))
	fresh = slices.DeleteFunc(fresh, func(n string) bool { return p.note.Brought[n].From == there[n] })
	var odd, tooMuch []string
	if len(fresh) > 0 {
		folder, err := f.openResults(m, p)
		if err != nil {
			return earlier, err
		}
		defer folder.Close()
		if odd, tooMuch, err = f.bringAll(ctx, folder, m.Name, fresh, there, p, files); err != nil {
			return earlier, errors.Join(err, f.keep(m.ID, p))
		}
	}
	for n := range p.note.Brought {
		if _, ok := there[n]; !ok && len(p.note.Brought) > 2*maxNames {
			delete(p.note.Brought, n)
		}
	}
	notice = both(both(both(earlier,
		left("The outbox keeps", "5 GB and 2,000 files of one machine are brought to your folder at most.", tooMuch)),
		left("The outbox keeps", "this computer cannot have files with such names.", odd)),
		kept.notice())
	if len(fresh) == 0 && earlier == "" {
		return notice, nil
	}
	return notice, f.keep(m.ID, p)
}

// bringAll copies the fresh files of an outbox to a folder. It returns those whose names this
// computer cannot have, and those that there is no room for.
func (f *Folder) bringAll(
	ctx context.Context, folder *os.Root, machineName string, fresh []string, there map[string]mark, p *peer, files machine.Files,
) (odd, tooMuch []string, err error) {
	room := maxResults - weigh(folder)
	for i, n := range fresh {
		switch local, err := filepath.Localize(n); {
		case err != nil:
			odd = append(odd, n)
		case there[n].Size > room, i >= maxNames:
			tooMuch = append(tooMuch, n)
		default:
			b, err := f.bring(ctx, folder, machineName, n, local, p.note.Brought[n], room, files)
			if errors.Is(err, errTooMuch) { // it has grown since it was listed
				tooMuch = append(tooMuch, n)
				continue
			}
			var gone *machine.Error
			if errors.As(err, &gone) && errors.Is(err, machine.ErrInvalid) {
				continue // it has just gone, or cannot be read
			}
			if err != nil {
				return nil, nil, err
			}
			room -= b.Here.Size
			p.note.Brought[n] = b
		}
	}
	return odd, tooMuch, nil
}

// refusals are the paths that do not come out of a machine, by reason.
type refusals map[string][]string

func (r refusals) refuse(name string, folder bool) bool {
	at, why := refused(name, folder)
	if why != "" {
		r[why] = append(r[why], at)
	}
	return why != ""
}

func (r refusals) notice() (all string) {
	for _, why := range slices.Sorted(maps.Keys(r)) {
		all = both(all, left("The outbox keeps", why+".", r[why]))
	}
	if all == "" {
		return ""
	}
	return all + " Have code save what you need under other names."
}

// earlier tells once of files that an earlier version brought to the person and this one refuses.
func (p *peer) earlier() string {
	var names []string
	for _, n := range slices.Sorted(maps.Keys(p.note.Brought)) {
		if _, why := refused(p.note.Brought[n].Name, false); why != "" {
			names = append(names, p.note.Brought[n].Name)
			delete(p.note.Brought, n)
		}
	}
	return left("An earlier version of ForeverVM brought to this machine's results", "programs on your computer may act on such files. Delete those that you do not know.", names)
}

var errTooMuch = errors.New("there is no room for this file")

// bring copies one file out of a machine to local in the folder to, all at once. It may take room
// bytes. The copy is never executable, whatever the file in the machine is.
func (f *Folder) bring(ctx context.Context, to *os.Root, machineName, name, local string, before brought, room int64, files machine.Files) (b brought, err error) {
	content, err := machine.Open(ctx, files, path.Join(Outbox, name))
	if err != nil {
		return b, err
	}
	if content.Size > room {
		return b, errTooMuch
	}
	found, err := files.StatFile(ctx, path.Join(Outbox, name))
	if err != nil {
		return b, err
	}
	dir := filepath.Dir(local)
	if err := to.MkdirAll(dir, 0o700); err != nil {
		return b, err
	}
	temp := filepath.Join(dir, ".forevervm-"+strings.ToLower(rand.Text())+".part")
	file, err := to.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return b, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, to.Remove(temp))
		}
	}()
	n, err := io.Copy(file, io.LimitReader(content, content.Size))
	if err == nil && n < content.Size {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		if err := markDownloaded(file, "forevervm://machine/"+machineName); err != nil {
			f.log.Debug("a result is not marked as downloaded", "err", err) // some disks have no such mark
		}
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return b, err
	}
	from, at := mark{Size: content.Size}, time.Now()
	if !found.Modified.IsZero() {
		at = found.Modified
		from.Modified = at.UnixNano()
	}
	if err := to.Chtimes(temp, at, at); err != nil {
		return b, err
	}
	if local, err = place(to, local, before); err != nil {
		return b, err
	}
	if err := to.Rename(temp, local); err != nil {
		return b, err
	}
	info, err := to.Lstat(local)
	if err != nil {
		return b, err
	}
	return brought{From: from, Name: filepath.ToSlash(local), Here: markOf(info)}, nil
}

// place is where a file goes: to its own name where there is nothing but what we brought there
// ourselves, else to a name beside it.
func place(to *os.Root, local string, before brought) (string, error) {
	ext := filepath.Ext(local)
	stem := strings.TrimSuffix(local, ext)
	for n, try := 2, local; n < 1000; n++ {
		info, err := to.Lstat(try)
		if errors.Is(err, fs.ErrNotExist) {
			return try, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode().IsRegular() && filepath.ToSlash(try) == before.Name && markOf(info) == before.Here {
			return try, nil
		}
		try = fmt.Sprintf("%s (%d)%s", stem, n, ext)
	}
	return "", fmt.Errorf("there are too many files named %s", filepath.Base(local))
}
