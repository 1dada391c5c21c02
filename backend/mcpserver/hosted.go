package mcpserver

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

// hosted is the engine of machines that run at the hosted service.
const hosted = "hosted"

// lookWithin is how long a list of tools waits for the daemon, which may have to be started.
const lookWithin = 2 * time.Second

// leaveOut takes the tools off a list that could be used with no machine. Who calls one all the
// same is refused with a sentence. Where it is not known in time, all are there.
func (s *Server) leaveOut(ctx context.Context, list *mcp.ListToolsResult) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	if s.onlyHosted(ctx) {
		list.Tools = slices.DeleteFunc(list.Tools, func(t mcp.Tool) bool { return s.here[t.Name] })
	}
}

// onlyHosted says whether there is no machine of this computer, and new ones are none either: the
// server has only the public protocol, or the person wants them made by the service.
func (s *Server) onlyHosted(ctx context.Context) bool {
	status, err := s.of(ctx).Status(ctx)
	if err != nil {
		return errors.Is(err, client.ErrUnsupported)
	}
	return status.Total == 0 && slices.ContainsFunc(status.Engines, func(e api.Engine) bool { return e.Default && e.Name == hosted })
}
