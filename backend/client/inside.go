package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/forevervm/desktop/backend/api"
)

// Complete returns the completions of code at a cursor (in code points).
func (c *Client) Complete(ctx context.Context, name, code string, cursor int) (api.Completions, error) {
	var out api.Completions
	_, err := c.call(ctx, request{method: http.MethodPost, path: machinePath(name, "complete"), json: api.CodeAt{Code: code, Cursor: cursor}, repeatable: true}, &out)
	return out, err
}

// Inspect returns what is known of the name at a cursor (in code points); detail 1 says more.
func (c *Client) Inspect(ctx context.Context, name, code string, cursor, detail int) (api.Inspection, error) {
	var out api.Inspection
	_, err := c.call(ctx, request{method: http.MethodPost, path: machinePath(name, "inspect"), json: api.CodeAt{Code: code, Cursor: cursor, Detail: detail}, repeatable: true}, &out)
	return out, err
}

// Variables returns the user's variables in a machine.
func (c *Client) Variables(ctx context.Context, name string) ([]api.Variable, error) {
	var list api.List[api.Variable]
	_, err := c.call(ctx, request{method: http.MethodGet, path: machinePath(name, "variables"), repeatable: true}, &list)
	return list.Items, err
}

// ListFiles returns what is in a folder of a machine; paths are relative to the machine's home, "" is the home.
func (c *Client) ListFiles(ctx context.Context, name, path string) ([]api.File, error) {
	var values url.Values
	if path != "" {
		values = url.Values{"path": {path}}
	}
	var list api.List[api.File]
	_, err := c.call(ctx, request{method: http.MethodGet, path: machinePath(name, "files"), query: values, repeatable: true}, &list)
	return list.Items, err
}

// Export returns what happened in a machine as a document: "ipynb", "py", "html" or "md". The caller closes it.
func (c *Client) Export(ctx context.Context, name, format string) (io.ReadCloser, error) {
	resp, err := c.send(ctx, request{method: http.MethodGet, path: machinePath(name, "export"), query: url.Values{"format": {format}}, repeatable: true})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// GetFile returns the bytes of a file in a machine. size is -1 when it is not known beforehand. The caller closes it.
func (c *Client) GetFile(ctx context.Context, name, path string) (content io.ReadCloser, size int64, err error) {
	resp, err := c.send(ctx, request{method: http.MethodGet, path: machinePath(name, "files", "content"), query: url.Values{"path": {path}}, repeatable: true})
	if err != nil {
		return nil, 0, err
	}
	return resp.Body, resp.ContentLength, nil
}

// PutFile writes a file into a machine, replacing what was there and making folders as needed. A content that is an
// io.Seeker is sent again after a broken connection.
func (c *Client) PutFile(ctx context.Context, name, path string, content io.Reader) error {
	_, err := c.call(ctx, request{method: http.MethodPut, path: machinePath(name, "files", "content"), query: url.Values{"path": {path}}, body: content, repeatable: true}, nil)
	return err
}
