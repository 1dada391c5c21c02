//go:build linux

package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// controlPath is the socket on which a sandbox takes calls. runsc's own commands use it as well;
// starting one for each call would cost it 7 ms.
const controlPath = runPath + "/state/runsc-" + containerID + ".sock"

// maxAnswer bounds what a sandbox answers, in bytes: it may have been taken over.
const maxAnswer = 64 << 10

// The methods of gVisor's runsc/boot/controller.go that are called, with the fields of their
// arguments that are not left at zero. build/runsc pins the version; each start and each save tests
// them.
const (
	methodNetwork    = "containerManager.SetNetworkArgs"
	methodRestore    = "containerManager.Restore"
	methodCheckpoint = "containerManager.Checkpoint"
)

type (
	networkArgs struct {
		LoopbackLinks []loopbackLink
		IsRestore     bool
	}
	loopbackLink struct {
		Name      string
		Addresses []loopbackAddress
		Routes    []loopbackRoute
	}
	loopbackAddress struct {
		Address   net.IP
		PrefixLen int
	}
	loopbackRoute struct{ Destination net.IPNet }

	restoreArgs struct {
		HavePagesFile bool
		Background    bool // it runs while its memory is read
	}
	checkpointArgs struct {
		Metadata      map[string]string `json:"metadata"`
		HavePagesFile bool              `json:"have_pages_file"`
		Resume        bool
	}
)

// loopback is the one network that a sandbox has.
var loopback = loopbackLink{
	Name:      "lo",
	Addresses: []loopbackAddress{{net.IPv4(127, 0, 0, 1), 8}, {net.IPv6loopback, 128}},
	Routes: []loopbackRoute{
		{net.IPNet{IP: net.IPv4(127, 0, 0, 0), Mask: net.CIDRMask(8, 32)}},
		{net.IPNet{IP: net.IPv6loopback, Mask: net.CIDRMask(128, 128)}},
	},
}

// call calls the sandbox: one JSON object each way, and files beside ours. It gives up when ctx
// ends; the sandbox may still do it.
func call(ctx context.Context, socket, method string, arg any, files ...*os.File) (err error) {
	request, err := json.Marshal(struct {
		Method string `json:"method"`
		Arg    any    `json:"arg"`
	}{method, arg})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	if _, _, err := conn.(*net.UnixConn).WriteMsgUnix(request, unix.UnixRights(fds...), nil); err != nil {
		return err
	}
	var answer struct {
		Success bool   `json:"success"`
		Err     string `json:"err"`
	}
	if err := json.NewDecoder(io.LimitReader(conn, maxAnswer)).Decode(&answer); err != nil {
		return fmt.Errorf("it does not answer: %w", err)
	}
	if !answer.Success {
		return errors.New(cmp.Or(answer.Err, "it refused and did not say why"))
	}
	return nil
}

// restoreInto has a sandbox that was created read the checkpoint in a folder. Checkpoints of older
// versions of runsc have no checksums. The lock on the pages keeps others from writing over them
// while the sandbox reads on. Where the file system has no locks, nobody writes over any.
func restoreInto(ctx context.Context, folder string) error {
	files, err := openAll(folder, os.O_RDONLY, "checkpoint.img", "pages_meta.img", "pages.img")
	defer func() { closeAll(files) }()
	if err != nil {
		return err
	}
	if err := unix.Flock(int(files[2].Fd()), unix.LOCK_SH|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("%s is being written over", files[2].Name())
	}
	sums, err := openAll(folder, os.O_RDONLY, "pages.sum")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	files = append(files, sums...)
	network := networkArgs{LoopbackLinks: []loopbackLink{loopback}, IsRestore: true}
	if err := call(ctx, controlPath, methodNetwork, network); err != nil {
		return err
	}
	return call(ctx, controlPath, methodRestore, restoreArgs{HavePagesFile: true, Background: true}, files...)
}

// saveInto has the sandbox write a checkpoint into a folder and go on. The pages may be there, of
// an older one, and are written over.
func saveInto(ctx context.Context, folder string) error {
	files, err := openAll(folder, os.O_RDWR|os.O_CREATE|os.O_EXCL, "checkpoint.img", "pages_meta.img")
	defer func() { closeAll(files) }()
	if err != nil {
		return err
	}
	pages, err := openAll(folder, os.O_RDWR|os.O_CREATE, "pages.img")
	if err != nil {
		return err
	}
	files = append(files, pages...)
	how := checkpointArgs{Metadata: map[string]string{"compression": "none"}, HavePagesFile: true, Resume: true}
	return call(ctx, controlPath, methodCheckpoint, how, files...)
}

func openAll(folder string, flags int, names ...string) (files []*os.File, err error) {
	for _, name := range names {
		f, err := os.OpenFile(filepath.Join(folder, name), flags|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
