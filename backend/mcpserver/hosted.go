package mcpserver

import (
	"context"
	"errors"
	"slices"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

// hosted is the engine of machines that run at the hosted service.
const hosted = "hosted"

// onlyHosted says whether there is no machine of this computer, and new ones are none either: the
// server has only the public protocol, or the person wants them made by the service.
func (s *Server) onlyHosted(ctx context.Context) bool {
	status, err := s.of(ctx).Status(ctx)
	if err != nil {
		return errors.Is(err, client.ErrUnsupported)
	}
	return status.Total == 0 && slices.ContainsFunc(status.Engines, func(e api.Engine) bool { return e.Default && e.Name == hosted })
}
