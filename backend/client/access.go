package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/forevervm/desktop/backend/api"
)

// Tokens are the AI apps and programs that have a token of their own, oldest first.
func (c *Client) Tokens(ctx context.Context) ([]api.Grant, error) {
	var page api.List[api.Grant]
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/api/tokens", repeatable: true}, &page)
	return page.Items, err
}

// NewToken makes a token for a program. It is not shown again.
func (c *Client) NewToken(ctx context.Context, name string) (made api.MadeToken, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/api/tokens", json: api.NewToken{Name: name}}, &made)
	return made, err
}

// AllowToken locks an AI app out, or allows it again. A program's token is deleted instead.
func (c *Client) AllowToken(ctx context.Context, id string, allowed bool) (now api.Grant, err error) {
	_, err = c.call(ctx, request{method: http.MethodPatch, path: "/api/tokens/" + url.PathEscape(id), json: api.AllowToken{Allowed: allowed}}, &now)
	return now, err
}

// Record is what crossed the line between machines and the rest of the computer, newest first.
func (c *Client) Record(ctx context.Context, limit int) (page api.Record, err error) {
	_, err = c.call(ctx, request{method: http.MethodGet, path: "/api/record?limit=" + strconv.Itoa(limit), repeatable: true}, &page)
	return page, err
}

// Secrets are what machines may use and not see, by name.
func (c *Client) Secrets(ctx context.Context) ([]api.Secret, error) {
	var page api.List[api.Secret]
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/api/secrets", repeatable: true}, &page)
	return page.Items, err
}

// SetSecret keeps a secret, in place of one of the same name.
func (c *Client) SetSecret(ctx context.Context, name string, secret api.NewSecret) (kept api.Secret, err error) {
	_, err = c.call(ctx, request{method: http.MethodPut, path: "/api/secrets/" + url.PathEscape(name), json: secret}, &kept)
	return kept, err
}

// RemoveSecret forgets a secret.
func (c *Client) RemoveSecret(ctx context.Context, name string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: "/api/secrets/" + url.PathEscape(name)}, nil)
	return err
}

// TypedKeys are the steps of a machine whose code holds what looks like a key.
func (c *Client) TypedKeys(ctx context.Context, machine string) ([]api.TypedKey, error) {
	var page api.List[api.TypedKey]
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/api/machines/" + url.PathEscape(machine) + "/typed-keys", repeatable: true}, &page)
	return page.Items, err
}
