package client

import (
	"context"
	"net/http"

	"github.com/forevervm/desktop/backend/api"
)

// Hello tells the server that this client's program is there, before it has run anything.
func (c *Client) Hello(ctx context.Context) error {
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/api/clients", repeatable: true}, nil)
	return err
}

// Clients returns all programs that were ever seen, the last seen first.
func (c *Client) Clients(ctx context.Context) ([]api.ClientUse, error) {
	var out api.List[api.ClientUse]
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/api/clients", repeatable: true}, &out)
	return out.Items, err
}
