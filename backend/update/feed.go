package update

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/systemproxy"
)

// ErrUnreachable says that the feed could not be asked: the computer may be offline.
var ErrUnreachable = errors.New("the place where releases are announced cannot be reached")

const (
	mostOfManifest = 1 << 20          // bytes
	lookWithin     = 30 * time.Second // for manifest and signatures
	stallsAfter    = time.Minute      // a download that brings nothing for this long is interrupted
)

// feed is where releases are announced and lie.
type feed struct {
	address string // ends without a slash
	http    *http.Client
	within  time.Duration // lookWithin, and stallsAfter, but in tests
	stalls  time.Duration
}

// newFeed reads an address. What comes from it is signed, but nobody else need know what this
// computer runs: so it is HTTPS, except on this computer.
func newFeed(address string) (*feed, error) {
	parsed, err := url.Parse(address)
	if err != nil || !discreet(parsed) {
		return nil, fmt.Errorf("%q is no address of releases: it must begin with https://", address)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = systemproxy.For
	transport.ResponseHeaderTimeout = lookWithin
	client := &http.Client{Transport: transport, CheckRedirect: func(request *http.Request, via []*http.Request) error {
		if !discreet(request.URL) || len(via) >= 10 {
			return fmt.Errorf("it leads to %s", request.URL.Redacted())
		}
		return nil
	}}
	return &feed{address: strings.TrimSuffix(address, "/"), http: client, within: lookWithin, stalls: stallsAfter}, nil
}

func discreet(address *url.URL) bool {
	ip := net.ParseIP(address.Hostname())
	here := address.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	return address.Host != "" && (address.Scheme == "https" || address.Scheme == "http" && here)
}

// manifest gets the manifest and its signatures, both unchecked.
func (f *feed) manifest(ctx context.Context) (document, signatures []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.within)
	defer cancel()
	if document, err = f.small(ctx, ManifestName); err != nil {
		return nil, nil, err
	}
	signatures, err = f.small(ctx, SignaturesName)
	return document, signatures, err
}

func (f *feed) small(ctx context.Context, name string) ([]byte, error) {
	response, err := f.get(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: %s answers %s", ErrUnreachable, f.address, response.Status)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, mostOfManifest+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if len(data) > mostOfManifest {
		return nil, ErrDamaged
	}
	return data, nil
}

func (f *feed) get(ctx context.Context, name string, from int64) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.address+"/"+url.PathEscape(name), nil)
	if err != nil {
		return nil, err
	}
	if from > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	response, err := f.http.Do(request)
	if err != nil {
		var asked *url.Error // which begins with the method and the address
		if errors.As(err, &asked) {
			err = asked.Err
		}
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return response, nil
}

// download brings a file into a folder and returns its path. What an earlier try left is gone on
// with. The file is whole and the one that was signed, or not there. told is called with the bytes
// that are here.
func (f *feed) download(ctx context.Context, folder string, file File, told func(int64)) (string, error) {
	whole := filepath.Join(folder, file.Name)
	if digest, size, err := digestOf(whole); err == nil && size == file.Size && digest == file.SHA256 {
		told(size)
		return whole, nil
	}
	// Named for what it is to become: what is left of another release is not gone on with.
	part := filepath.Join(folder, file.SHA256[:16]+".part")
	if sizeOf(part) > file.Size {
		os.Remove(part)
	}
	for {
		before := sizeOf(part)
		err := f.more(ctx, part, file, told)
		after := sizeOf(part)
		if err == nil && after == file.Size {
			break
		}
		// Interrupted on the way: gone on with, as long as that brings anything.
		if ctx.Err() != nil || after <= before {
			if err == nil {
				err = ctx.Err()
			}
			return "", errors.Join(err, fmt.Errorf("the download of %s stopped at %d of %d bytes; it goes on from there when you try again", file.Name, after, file.Size))
		}
	}
	digest, _, err := digestOf(part)
	if err != nil {
		return "", err
	}
	if digest != file.SHA256 {
		return "", errors.Join(fmt.Errorf("the file %s: %w", file.Name, errNotSigned), os.Remove(part))
	}
	return whole, os.Rename(part, whole)
}

var errNotSigned = errors.New("what was downloaded is not what was signed, and is thrown away")

// more appends to a part of a file what is missing.
func (f *feed) more(ctx context.Context, part string, file File, told func(int64)) (err error) {
	out, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	have, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if have >= file.Size { // whole, or too long, which its digest tells
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	response, err := f.get(ctx, file.Name, have)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusPartialContent && strings.HasPrefix(response.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", have)):
	case response.StatusCode == http.StatusOK: // from its beginning, as this server knows no other way
		if have, err = 0, out.Truncate(0); err != nil {
			return err
		}
		if _, err := out.Seek(0, io.SeekStart); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%w: %s answers %s", ErrUnreachable, f.address, response.Status)
	}
	stalled := time.AfterFunc(f.stalls, func() { cancel(fmt.Errorf("%w: nothing has come from there for %s", ErrUnreachable, f.stalls)) })
	defer stalled.Stop()
	var unwritten error
	counted := writerFunc(func(data []byte) (int, error) {
		stalled.Reset(f.stalls)
		var n int
		n, unwritten = out.Write(data)
		have += int64(n)
		told(have)
		return n, unwritten
	})
	_, err = io.Copy(counted, io.LimitReader(response.Body, file.Size-have))
	switch {
	case unwritten != nil:
		return fmt.Errorf("what comes of %s cannot be kept here: %w", file.Name, unwritten)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return out.Sync()
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(data []byte) (int, error) { return w(data) }

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// digestOf returns the SHA-256 of a file, in hexadecimal, and its size.
func digestOf(path string) (string, int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	return hex.EncodeToString(sum.Sum(nil)), size, err
}
