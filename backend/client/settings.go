package client

import (
	"context"
	"net/http"

	"github.com/forevervm/desktop/backend/api"
)

// Settings returns what the person may set, as it holds now.
func (c *Client) Settings(ctx context.Context) (api.Settings, error) {
	var out api.Settings
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/api/settings", repeatable: true}, &out)
	return out, err
}

// ChangeSettings sets some by their JSON keys, all or nothing, and returns all; nil returns one to
// its default.
func (c *Client) ChangeSettings(ctx context.Context, changes map[string]any) (api.Settings, error) {
	var out api.Settings
	_, err := c.call(ctx, request{method: http.MethodPatch, path: "/api/settings", json: changes, repeatable: true}, &out)
	return out, err
}

// Backups returns how the backups of machines stand.
func (c *Client) Backups(ctx context.Context) (api.Backups, error) {
	var out api.Backups
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/api/backups", repeatable: true}, &out)
	return out, err
}

// Storage returns what takes room on the disk.
func (c *Client) Storage(ctx context.Context) (api.Storage, error) {
	var out api.Storage
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/api/storage", repeatable: true}, &out)
	return out, err
}

// FreeUp deletes what was chosen, for good, and returns what is left.
func (c *Client) FreeUp(ctx context.Context, what api.FreeUp) (api.Storage, error) {
	var out api.Storage
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/api/storage/free", json: what, repeatable: true}, &out)
	return out, err
}

// Move has the daemon move ForeverVM's files to a folder, "" for their usual place; Moving tells
// how far it is.
func (c *Client) Move(ctx context.Context, folder string) (api.Move, error) {
	var out api.Move
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/api/storage/move", json: api.MoveFiles{Folder: folder}}, &out)
	return out, err
}

// Moving returns where ForeverVM's files are, and how far they are on their way.
func (c *Client) Moving(ctx context.Context) (api.Move, error) {
	var out api.Move
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/api/storage/move", repeatable: true}, &out)
	return out, err
}

// BackUp begins to back machines up; Backups tells when that has ended.
func (c *Client) BackUp(ctx context.Context) (api.Backups, error) {
	var out api.Backups
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/api/backups/run", repeatable: true}, &out)
	return out, err
}
