package machine

import (
	"context"
	"time"
)

// ClientUse is what is known of a program that uses machines.
type ClientUse struct {
	Client Client
	SeenAt time.Time // when it last said hello or sent an instruction
	Calls  int       // of tools, over MCP
}

// Hello notes that a program is there, and that it has called so many more tools, and tells.
func (s *Service) Hello(ctx context.Context, client Client, calls int) error {
	err := s.store.Write(ctx, func(w Writer) error {
		return w.PutClient(ClientUse{Client: client, SeenAt: time.Now(), Calls: calls})
	})
	if err == nil {
		s.hub.publish(Event{Type: EventClient, Client: &client})
	}
	return err
}

// Clients returns all programs that were ever seen, the last seen first.
func (s *Service) Clients(ctx context.Context) ([]ClientUse, error) { return s.store.Clients(ctx) }
