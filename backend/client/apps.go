package client

import (
	"context"
	"net/http"

	"github.com/forevervm/desktop/backend/api"
)

// Hello tells the server that this client's program is there, and that it has called so many tools
// since it last told of some. After an ErrDropped they may be counted already.
func (c *Client) Hello(ctx context.Context, calls int) error {
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/api/clients", json: api.Hello{Calls: calls}, repeatable: calls == 0}, nil)
	return err
}

// Apps returns all AI apps that are known, and how they stand.
func (c *Client) Apps(ctx context.Context) ([]api.App, error) {
	var out api.List[api.App]
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/api/apps", repeatable: true}, &out)
	return out.Items, err
}

// Clients returns all programs that were ever seen, the last seen first.
func (c *Client) Clients(ctx context.Context) ([]api.ClientUse, error) {
	var out api.List[api.ClientUse]
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/api/clients", repeatable: true}, &out)
	return out.Items, err
}
