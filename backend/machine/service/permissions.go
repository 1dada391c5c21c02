package service

import (
	"context"

	"github.com/forevervm/desktop/backend/machine"
)

// AskPermission waits for a person's answer until ctx ends.
func (s *Service) AskPermission(ctx context.Context, p machine.Permission) (machine.Permission, error) {
	return s.permissions.Ask(ctx, p)
}

// Permissions are those that wait for an answer, oldest first.
func (s *Service) Permissions() []machine.Permission { return s.permissions.Waiting() }

// AnswerPermission allows or denies what waits.
func (s *Service) AnswerPermission(id int64, allow bool) error {
	return s.permissions.Answer(id, allow)
}
