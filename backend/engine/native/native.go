// Package native is the engine of Linux computers without Docker: every machine is a child process of the daemon's, in
// a gVisor sandbox. It needs neither root nor Docker, only that users may make user name spaces.
//
// Under its data folder (mode 0700) it keeps
//
//	digests.json                  SHA-256 of images and runsc, remembered by size and time
//	templates/lock                held while a template is made
//	templates/KEY/checkpoints/ID  the template: a checkpoint whose interpreter has its libraries imported
//	spares/NAME/                  where a sandbox waits for a machine; it moves into that one's folder
//	machines/ID/lock              held by the supervisor while the machine is in memory
//	machines/ID/checkpoints/      see package checkpoint
//	machines/ID/scratch/          what the running machine writes; removed when it ends
//	machines/ID/supervisor.log    stderr of the last supervisor
//
// KEY names image, runsc and base spec. A template is only ever restored by machines that were never saved; a machine's own
// checkpoints hold everything, so templates of earlier images and runscs are removed when a new one is made.
package native

import "log/slog"

// Name is the engine's name.
const Name = "native"

// Config says where things are. Paths are absolute.
type Config struct {
	Supervisor string // the program
	Runsc      string // the program
	Images     string // folder of NAME.erofs
	Data       string // the engine's own folder, made if need be
	Log        *slog.Logger
}
