package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/forevervm/desktop/backend/api"
)

// People are those of the team that uses the daemon, and those who were removed and still have
// machines, oldest first.
func (c *Client) People(ctx context.Context) ([]api.Person, error) {
	var page api.List[api.Person]
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/api/people", repeatable: true}, &page)
	return page.Items, err
}

// AddPerson makes a person and their token, which is not shown again.
func (c *Client) AddPerson(ctx context.Context, name string) (made api.MadePerson, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/api/people", json: api.NewPerson{Name: name}}, &made)
	return made, err
}

// RenewPerson gives a person a new token, and ends the one before.
func (c *Client) RenewPerson(ctx context.Context, id string) (made api.MadePerson, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/api/people/" + url.PathEscape(id) + "/token"}, &made)
	return made, err
}

// RemovePerson ends a person's token. Their machines stay.
func (c *Client) RemovePerson(ctx context.Context, id string) (gone api.Person, err error) {
	_, err = c.call(ctx, request{method: http.MethodDelete, path: "/api/people/" + url.PathEscape(id)}, &gone)
	return gone, err
}
