package wsl

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/engine/remote/parts"
	"github.com/forevervm/desktop/backend/machine"
)

// folders are those of the distribution. WSL mounts its own over some.
var folders = []struct {
	name        string
	mode        int64
	ofTheAgents bool
}{
	{"bin", 0o755, false}, {"dev", 0o755, false}, {"etc", 0o755, false}, {"home", 0o755, false}, {home[1:], 0o700, true},
	{home[1:] + "/bin", 0o700, true}, {home[1:] + "/bin/image", 0o700, true}, {data[1:], 0o700, true},
	{"lib", 0o755, false}, {"mnt", 0o755, false}, {"proc", 0o755, false}, {"root", 0o700, false}, {"run", 0o755, false},
	{"sbin", 0o755, false}, {"sys", 0o755, false}, {"tmp", 0o1777, false}, {"usr", 0o755, false}, {"usr/bin", 0o755, false},
	{"usr/lib", 0o755, false}, {"var", 0o755, false},
}

// files are those of the distribution beside the parts. It sees no drives of Windows, starts no
// programs there, and needs no names of hosts: machines reach the network by the daemon.
var files = []struct{ name, content string }{
	{"etc/wsl.conf", `[automount]
enabled=false
mountFsTab=false
[interop]
enabled=false
appendWindowsPath=false
[network]
generateHosts=false
generateResolvConf=false
[boot]
systemd=false
[gpu]
enabled=false
[user]
default=` + user + "\n"},
	// Neither an entry in the Start menu nor one in the terminal.
	{"etc/wsl-distribution.conf", "[shortcut]\nenabled=false\n[windowsterminal]\nenabled=false\n"},
	{"etc/os-release", "NAME=ForeverVM\nID=forevervm\nPRETTY_NAME=\"ForeverVM: machines of AI apps\"\n"},
	{"etc/passwd", "root:x:0:0:root:/root:/sbin/nologin\n" + user + ":x:1000:1000:ForeverVM:" + home + ":/sbin/nologin\n"},
	{"etc/group", "root:x:0:\n" + user + ":x:1000:\n"},
}

// root writes the distribution as a tar file.
func root(w io.Writer, made *parts.Parts, progress func(sent int64)) error {
	t := tar.NewWriter(w)
	for _, f := range folders {
		h := &tar.Header{Typeflag: tar.TypeDir, Name: f.name + "/", Mode: f.mode}
		if f.ofTheAgents {
			h.Uid, h.Gid = userID, userID
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := t.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.content))}); err != nil {
			return err
		}
		if _, err := io.WriteString(t, f.content); err != nil {
			return err
		}
	}
	return errors.Join(made.Write(t, home[1:]+"/bin", userID, progress), t.Close())
}

// update writes the parts alone as a tar file.
func update(w io.Writer, made *parts.Parts, progress func(sent int64)) error {
	t := tar.NewWriter(w)
	return errors.Join(made.Write(t, "", userID, progress), t.Close())
}

// Install puts the parts there: into a new distribution, or in the place of those that are there,
// whose machines stay. An agent that is dialled must have been told to end (remote.Place.Reset).
// What an earlier one that was interrupted has left is mended. progress, which may be nil, is
// called with how many bytes of the parts have been read, of made.Size.
func (p *Place) Install(ctx context.Context, made *parts.Parts, progress func(sent int64)) error {
	found, err := p.state(ctx)
	if err != nil {
		return err
	}
	switch {
	case found.listed && !found.ours:
		return foreign(p.cfg.Name).err(nil)
	case found.half:
		if _, err := p.run(ctx, nil, "--unregister", p.cfg.Name); err != nil {
			return err
		}
		fallthrough
	case !found.listed:
		err = p.add(ctx, made, progress)
	case found.digest == "":
		return &machine.Error{Kind: machine.ErrUnavailable, Message: "The distribution " + p.cfg.Name + " in WSL does not answer. Restart Windows and try again. If that does not help, its programs are gone: `wsl --unregister " + p.cfg.Name + "` in a terminal deletes it with its machines, and ForeverVM makes a new one."}
	case found.digest != made.Digest:
		err = p.replace(ctx, made, progress)
	}
	if err != nil {
		return err
	}
	if found, err = p.state(ctx); err == nil && found.digest != made.Digest {
		err = &machine.Error{Kind: machine.ErrUnavailable, Message: "What came into WSL is not what was sent. Try again."}
	}
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(p.cfg.Folder, importing)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// add makes the distribution.
func (p *Place) add(ctx context.Context, made *parts.Parts, progress func(sent int64)) error {
	if err := os.MkdirAll(p.cfg.Folder, 0o700); err != nil {
		return err
	}
	// The disk of one that WSL has forgotten may have machines. WSL does not write over it.
	left := filepath.Join(p.cfg.Folder, disk)
	aside := left + time.Now().UTC().Format(".20060102-150405.left")
	if err := os.Rename(left, aside); err == nil {
		p.cfg.Log.Warn("WSL had forgotten a disk with machines, which stays", "file", aside)
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(filepath.Join(p.cfg.Folder, importing), nil, 0o600); err != nil {
		return err
	}
	_, err := p.send(ctx, func(w io.Writer) error { return root(w, made, progress) }, "--import", p.cfg.Name, p.cfg.Folder, "-", "--version", "2")
	return err
}

// replace replaces the programs.
func (p *Place) replace(ctx context.Context, made *parts.Parts, progress func(sent int64)) error {
	said, err := p.send(ctx, func(w io.Writer) error { return update(w, made, progress) }, p.inside("-unpack", "-data", data)...)
	if err != nil {
		return err
	}
	if !strings.Contains(said, parts.Done) {
		return &machine.Error{Kind: machine.ErrUnavailable, Message: "What came into WSL is not what was sent. Try again."}
	}
	_, err = p.ask(ctx, "--terminate", p.cfg.Name)
	return err
}

// send runs wsl.exe, which reads what write writes.
func (p *Place) send(ctx context.Context, write func(io.Writer) error, args ...string) (said string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := write(w)
		if err != nil {
			cancel() // what was sent must not pass for the whole
		}
		written <- errors.Join(err, w.CloseWithError(err))
	}()
	said, err = p.run(ctx, r, args...)
	enough := errors.New("WSL takes no more")
	r.CloseWithError(enough)
	if wrong := <-written; wrong != nil && !errors.Is(wrong, enough) {
		err = wrong
	}
	return said, err
}
