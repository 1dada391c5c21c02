package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/forevervm/desktop/backend/api"
)

// Pack returns a machine as one file, at a checkpoint or with "" as it is. The caller closes it;
// one that ends with an error is not whole.
func (c *Client) Pack(ctx context.Context, name, checkpoint string) (io.ReadCloser, error) {
	q := url.Values{}
	if checkpoint != "" {
		q.Set("checkpoint", checkpoint)
	}
	resp, err := c.send(ctx, request{method: http.MethodGet, path: machinePath(name, "pack"), query: q, repeatable: true})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// LookedAt is how many bytes of a machine's file LookIntoParcel needs.
const LookedAt = 128 << 10

// LookIntoParcel tells what a machine's file holds, and what is to be said about it here. beginning
// is the first LookedAt bytes of the file.
func (c *Client) LookIntoParcel(ctx context.Context, beginning io.Reader, u Unpacking) (api.Parcel, error) {
	var seen api.Parcel
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/api/unpack/look", query: u.query(), body: beginning, repeatable: true}, &seen)
	return seen, err
}

// Unpacking says how a machine is made of a file; zero fields mean as the file says.
type Unpacking struct {
	Name, Title, Engine string
	// Trust is the fingerprint of a maker who is not known here, and is to be trusted; Maker is
	// what the person calls them.
	Trust, Maker string
}

func (u Unpacking) query() url.Values {
	q := url.Values{}
	for key, value := range map[string]string{"name": u.Name, "title": u.Title, "engine": u.Engine, "trust": u.Trust, "maker": u.Maker} {
		if value != "" {
			q.Set(key, value)
		}
	}
	return q
}

// Unpack makes a machine of a file.
func (c *Client) Unpack(ctx context.Context, content io.Reader, u Unpacking) (api.Machine, error) {
	var m api.Machine
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/api/unpack", query: u.query(), body: content}, &m)
	return m, err
}

// Makers returns whose files of machines were accepted.
func (c *Client) Makers(ctx context.Context) ([]api.Maker, error) {
	var list api.List[api.Maker]
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/api/makers", repeatable: true}, &list)
	return list.Items, err
}

// ForgetMaker has a maker be unknown again.
func (c *Client) ForgetMaker(ctx context.Context, fingerprint string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: "/api/makers/" + url.PathEscape(fingerprint)}, nil)
	return err
}
