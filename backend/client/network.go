package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/forevervm/desktop/backend/api"
)

// Network says what a machine may reach.
func (c *Client) Network(ctx context.Context, name string) (api.Network, error) {
	var out api.Network
	_, err := c.call(ctx, request{method: http.MethodGet, path: machinePath(name, "network"), repeatable: true}, &out)
	return out, err
}

// Connections returns a page of a machine's connections to the outside, newest first; limit 0 means
// the server's default.
func (c *Client) Connections(ctx context.Context, name, cursor string, limit int) (api.List[api.Connection], error) {
	q := url.Values{}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	var page api.List[api.Connection]
	_, err := c.call(ctx, request{method: http.MethodGet, path: machinePath(name, "connections"), query: q, repeatable: true}, &page)
	return page, err
}

// AnswerConnection answers the question about a connection: once, machine, always or deny.
func (c *Client) AnswerConnection(ctx context.Context, name string, id int64, answer string) error {
	path := machinePath(name, "connections", strconv.FormatInt(id, 10), "answer")
	_, err := c.call(ctx, request{method: http.MethodPost, path: path, json: api.Answer{Answer: answer}}, nil)
	return err
}
