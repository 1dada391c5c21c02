package machine

import (
	"context"
	"time"
)

// ClientUse is what is known of a program that uses machines.
type ClientUse struct {
	Client       Client
	SeenAt       time.Time // when it last said hello or sent an instruction
	Instructions int       // of its, that are still on record
}

// Hello notes that a program is there, before it has sent any instruction.
func (s *Service) Hello(ctx context.Context, client Client) error {
	return s.store.Write(ctx, func(w Writer) error { return w.PutClient(ClientUse{Client: client, SeenAt: time.Now()}) })
}

// Clients returns all programs that were ever seen, the last seen first.
func (s *Service) Clients(ctx context.Context) ([]ClientUse, error) { return s.store.Clients(ctx) }
