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

// ListFiles returns what is in a folder of a machine; paths are relative to the machine's home, ""
// is the home.
func (c *Client) ListFiles(ctx context.Context, name, path string) (api.FileList, error) {
	var list api.FileList
	_, err := c.call(ctx, request{method: http.MethodGet, path: machinePath(name, "files"), query: at(path), repeatable: true}, &list)
	return list, err
}

// Export returns what happened in a machine as a document: "ipynb", "py", "html" or "md". The
// caller closes it.
func (c *Client) Export(ctx context.Context, name, format string) (io.ReadCloser, error) {
	resp, err := c.send(ctx, request{method: http.MethodGet, path: machinePath(name, "export"), query: url.Values{"format": {format}}, repeatable: true})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// StatFile tells what is at a path of a machine; links are followed.
func (c *Client) StatFile(ctx context.Context, name, path string) (api.File, error) {
	var file api.File
	_, err := c.call(ctx, request{method: http.MethodGet, path: machinePath(name, "files", "stat"), query: at(path), repeatable: true}, &file)
	return file, err
}

// RemoveFile deletes a file of a machine, or a folder with all that is in it.
func (c *Client) RemoveFile(ctx context.Context, name, path string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: machinePath(name, "files"), query: at(path)}, nil)
	return err
}

// MakeFolder makes a folder in a machine, and those above it.
func (c *Client) MakeFolder(ctx context.Context, name, path string) error {
	_, err := c.call(ctx, request{method: http.MethodPost, path: machinePath(name, "files", "folder"), query: at(path), repeatable: true}, nil)
	return err
}

func at(path string) url.Values {
	if path == "" {
		return nil
	}
	return url.Values{"path": {path}}
}

// GetFile returns the bytes of a file in a machine, one state of it: where it changes meanwhile,
// reading ends with an error. The caller closes it.
func (c *Client) GetFile(ctx context.Context, name, path string) (content io.ReadCloser, size int64, err error) {
	resp, err := c.send(ctx, request{method: http.MethodGet, path: machinePath(name, "files", "content"), query: at(path), repeatable: true})
	if err != nil {
		return nil, 0, err
	}
	return resp.Body, resp.ContentLength, nil
}

// PutFile writes a file into a machine, replacing what was there, at the end and all at once, and
// making folders as needed. A content that is an io.Seeker is sent again after a broken connection.
func (c *Client) PutFile(ctx context.Context, name, path string, content io.Reader) error {
	_, err := c.call(ctx, request{method: http.MethodPut, path: machinePath(name, "files", "content"), query: at(path), body: content, repeatable: true}, nil)
	return err
}
