package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/forevervm/desktop/backend/api"
)

// Places are where machines can be beside this computer.
func (c *Client) Places(ctx context.Context) ([]api.Place, error) {
	var page api.List[api.Place]
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/api/places", repeatable: true}, &page)
	return page.Items, err
}

// LookAtPlace finds out what is at an address, and whether machines can run there.
func (c *Client) LookAtPlace(ctx context.Context, place api.NewPlace) (facts api.PlaceFacts, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/api/places/look", json: place, repeatable: true}, &facts)
	return facts, err
}

// AddPlace sets a place up and runs a first machine there. It may take minutes.
func (c *Client) AddPlace(ctx context.Context, place api.NewPlace) (added api.Place, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/api/places", json: place}, &added)
	return added, err
}

// RemovePlace removes what is at a place, and forgets it.
func (c *Client) RemovePlace(ctx context.Context, name string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: "/api/places/" + url.PathEscape(name)}, nil)
	return err
}
