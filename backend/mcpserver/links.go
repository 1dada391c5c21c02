package mcpserver

import (
	"context"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// linksSince is the first revision of the protocol with links to resources. An older client refuses
// a reply that has one.
const linksSince = "2025-06-18"

// linking has the IDs of the sessions whose clients take links to resources.
type linking struct{ sessions sync.Map }

// heed notes the sessions that agree on such a revision, and forgets them when they end.
func (l *linking) heed(hooks *server.Hooks) {
	hooks.AddAfterInitialize(func(ctx context.Context, _ any, _ *mcp.InitializeRequest, agreed *mcp.InitializeResult) {
		if session := server.ClientSessionFromContext(ctx); session != nil && agreed.ProtocolVersion >= linksSince {
			l.sessions.Store(session.SessionID(), true)
		}
	})
	hooks.AddOnUnregisterSession(func(_ context.Context, session server.ClientSession) { l.sessions.Delete(session.SessionID()) })
}

// takesLinks says whether a call may be answered with links to resources.
func (s *Server) takesLinks(ctx context.Context) bool {
	if request := server.RequestProtocolInfoFromContext(ctx); request != nil && request.Modern {
		return true
	}
	session := server.ClientSessionFromContext(ctx)
	if session == nil {
		return false
	}
	_, takes := s.linking.sessions.Load(session.SessionID())
	return takes
}
