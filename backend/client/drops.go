package client

import (
	"context"
	"net/http"

	"github.com/forevervm/desktop/backend/api"
)

// NewDrop makes a place in a machine for which a person gives a file, at Drop.URL. A path that ends
// with a slash is a folder.
func (c *Client) NewDrop(ctx context.Context, name, path string) (api.Drop, error) {
	var out api.Drop
	_, err := c.call(ctx, request{method: http.MethodPost, path: machinePath(name, "drops"), json: api.NewDrop{Path: path}}, &out)
	return out, err
}
