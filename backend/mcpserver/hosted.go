package mcpserver

import (
	"cmp"
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

// shorten leaves on a list of tools those that clients are told of, in their order, and of these
// none that could be used with no machine. Who calls another one all the same is answered, or
// refused with a sentence. Where it is not known in time what there is, all are there.
func (s *Server) shorten(ctx context.Context, list *mcp.ListToolsResult) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	onlyHosted := s.onlyHosted(ctx)
	list.Tools = slices.DeleteFunc(list.Tools, func(t mcp.Tool) bool {
		return !slices.Contains(s.listed, t.Name) || onlyHosted && s.here[t.Name]
	})
	slices.SortFunc(list.Tools, func(a, b mcp.Tool) int {
		return cmp.Compare(slices.Index(s.listed, a.Name), slices.Index(s.listed, b.Name))
	})
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
