package service

import (
	"context"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// Hello notes that a program is there, and that it has called so many more tools, and tells.
func (s *Service) Hello(ctx context.Context, client machine.Client, calls int) error {
	err := s.store.Write(ctx, func(w machine.Writer) error {
		return w.PutClient(machine.ClientUse{Client: client, SeenAt: time.Now(), Calls: calls})
	})
	if err == nil {
		s.hub.Publish(machine.Event{Type: machine.EventClient, Client: &client})
	}
	return err
}

// Clients returns all programs that were ever seen, the last seen first.
func (s *Service) Clients(ctx context.Context) ([]machine.ClientUse, error) {
	return s.store.Clients(ctx)
}
