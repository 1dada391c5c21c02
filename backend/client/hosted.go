package client

import (
	"context"
	"net/http"

	"github.com/forevervm/desktop/backend/api"
)

// Hosted says who is signed in at the hosted service, whose machines the daemon shows.
func (c *Client) Hosted(ctx context.Context) (api.Hosted, error) {
	var out api.Hosted
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/api/hosted", repeatable: true}, &out)
	return out, err
}

// SignIn signs in at a hosted service.
func (c *Client) SignIn(ctx context.Context, in api.HostedLogin) (api.Hosted, error) {
	return c.hosted(ctx, "login", in)
}

// UseAccount uses another account whose token is kept, or tries again with the same.
func (c *Client) UseAccount(ctx context.Context, a api.HostedAccount) (api.Hosted, error) {
	return c.hosted(ctx, "use", a)
}

// SignOut removes the token of the account that is used.
func (c *Client) SignOut(ctx context.Context) (api.Hosted, error) {
	return c.hosted(ctx, "logout", struct{}{})
}

func (c *Client) hosted(ctx context.Context, what string, body any) (api.Hosted, error) {
	var out api.Hosted
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/api/hosted/" + what, json: body}, &out)
	return out, err
}

// SignUp asks a hosted service for an account, whose token it sends by e-mail.
func (c *Client) SignUp(ctx context.Context, in api.HostedSignup) error {
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/api/hosted/signup", json: in}, nil)
	return err
}

// RemoveOfficial removes the file in which the official command line keeps the token that is used.
func (c *Client) RemoveOfficial(ctx context.Context) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: "/api/hosted/official", repeatable: true}, nil)
	return err
}
