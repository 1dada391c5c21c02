// Package native is the engine of Linux computers without Docker: every machine is a child process
// of the daemon's, in a gVisor sandbox. It needs neither root nor Docker, only that users may make
// user name spaces.
//
// In the data folder and a machine's own (see package local) it keeps
//
//	spares/NAME/                where a sandbox waits for a machine; it moves into that one's folder
//	machines/ID/lock            held by the supervisor while the machine is in memory
//	machines/ID/scratch/        what the running machine writes; removed when it ends
//	machines/ID/supervisor.log  stderr of the last supervisor
package native

import (
	"log/slog"

	"github.com/forevervm/desktop/backend/engine/local"
)

// Name is the engine's name.
const Name = "native"

// Config says where things are. Paths are absolute.
type Config struct {
	Supervisor string       // the program
	Store      *local.Store // where machines lie, and what sandboxes are made of
	Log        *slog.Logger
	// MemoryMax is how many bytes of memory all machines may take together, where the system can
	// hold them to that; 0 for no such limit.
	MemoryMax int64
}
