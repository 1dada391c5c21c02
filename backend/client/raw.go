package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Raw sends a request to an address of the API, as a page does, and returns the answer's MIME type
// and body. address is a path under /api/ with its query; body is JSON, nil for none. The caller
// closes the answer.
func (c *Client) Raw(ctx context.Context, method, address string, body []byte) (mime string, answer io.ReadCloser, err error) {
	if !strings.HasPrefix(address, "/api/") {
		return "", nil, fmt.Errorf("%w: %q is not an address of the API", ErrInvalid, address)
	}
	r := request{method: method, path: address, repeatable: method == http.MethodGet}
	if body != nil {
		r.json = json.RawMessage(body)
	}
	resp, err := c.send(ctx, r)
	if err != nil {
		return "", nil, err
	}
	return resp.Header.Get("Content-Type"), resp.Body, nil
}
