package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/forevervm/desktop/backend/api"
)

// Permissions are what AI apps want to do and a person has not allowed or denied, oldest first.
func (c *Client) Permissions(ctx context.Context) ([]api.Permission, error) {
	var out api.List[api.Permission]
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/api/permissions", repeatable: true}, &out)
	return out.Items, err
}

// AskPermission has the window ask its person, waits that long for the answer, and returns how the
// permission stands then. Asking for the same again waits on.
func (c *Client) AskPermission(ctx context.Context, p api.AskPermission, wait time.Duration) (api.Permission, error) {
	var out api.Permission
	q := url.Values{"wait": {strconv.FormatFloat(wait.Seconds(), 'f', -1, 64)}}
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/api/permissions", query: q, json: p}, &out)
	return out, err
}

// AnswerPermission allows or denies what an AI app wants to do.
func (c *Client) AnswerPermission(ctx context.Context, id int64, allow bool) error {
	path := "/api/permissions/" + strconv.FormatInt(id, 10) + "/answer"
	_, err := c.call(ctx, request{method: http.MethodPost, path: path, json: api.AnswerPermission{Allow: allow}}, nil)
	return err
}
