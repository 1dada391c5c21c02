// Package handshake lets a front end make sure that who answers at an address is the user's daemon,
// before it is told the token: a port that a killed daemon has left can be taken by anybody on the
// computer, who would then be told it.
//
// Both know the token. The front end makes up a nonce, and the daemon answers with a digest that
// only who knows the token can make. The address is in the digest: otherwise an impostor could pass
// the question on to the real daemon elsewhere.
package handshake

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Parameter is the query parameter of /health with the nonce.
const Parameter = "nonce"

const (
	nonceBytes = 32
	minNonce   = 16 // bytes of a nonce that is answered
	maxNonce   = 64
	within     = 5 * time.Second // a daemon proves itself, or is taken for none
	maxAnswer  = 16 << 10
)

// errImpostor says that something else answers.
var errImpostor = errors.New("what answers there does not prove to be your ForeverVM daemon, and is told nothing")

// ValidNonce says whether a nonce is one that is answered: 16 to 64 bytes in hexadecimal.
func ValidNonce(nonce string) bool {
	raw, err := hex.DecodeString(nonce)
	return err == nil && len(raw) >= minNonce && len(raw) <= maxNonce
}

// Of is the proof: the HMAC-SHA256 of "NONCE ADDRESS" under the token, in hexadecimal. The address
// is the one where the connection came in, such as 127.0.0.1:4711; the nonce is valid.
func Of(token, nonce string, at net.Addr) string {
	mac := hmac.New(sha256.New, []byte(token))
	fmt.Fprintf(mac, "%s %s", nonce, canonical(at))
	return hex.EncodeToString(mac.Sum(nil))
}

// canonical writes an address as both ends of a connection do.
func canonical(at net.Addr) string {
	if at == nil {
		return ""
	}
	parsed, err := netip.ParseAddrPort(at.String())
	if err != nil {
		return at.String()
	}
	return netip.AddrPortFrom(parsed.Addr().Unmap().WithZone(""), parsed.Port()).String()
}

// Client makes an HTTP client each of whose connections leads to a daemon that has proved itself;
// nothing of a request is sent before. One that fails to is a connection that could not be made (a
// *net.OpError of "dial"). The token is asked for with each connection, which dial makes; nil is
// for TCP.
func Client(token func() (string, error), dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // the daemon is on this computer
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		secret, err := token()
		if err != nil {
			return nil, err
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if err := ask(ctx, conn, address, secret); err != nil {
			_ = conn.Close()
			return nil, &net.OpError{Op: "dial", Net: network, Addr: conn.RemoteAddr(), Err: err}
		}
		return conn, nil
	}
	return &http.Client{Transport: transport}
}

// ask has the other end of a connection prove itself, and leaves the connection as if it were new.
func ask(ctx context.Context, conn net.Conn, address, token string) error {
	var random [nonceBytes]byte
	_, _ = rand.Read(random[:]) // never fails
	nonce := hex.EncodeToString(random[:])
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/health?"+Parameter+"="+nonce, nil)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	if err := req.Write(conn); err != nil {
		return err
	}
	in := bufio.NewReader(io.LimitReader(conn, maxAnswer))
	resp, err := http.ReadResponse(in, req)
	if err != nil {
		return fmt.Errorf("%w (%w)", errImpostor, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%w (%w)", errImpostor, err)
	}
	var health struct {
		Proof string `json:"proof"`
	}
	if json.Unmarshal(body, &health) != nil || !hmac.Equal([]byte(health.Proof), []byte(Of(token, nonce, conn.RemoteAddr()))) {
		return errImpostor
	}
	if resp.Close || in.Buffered() > 0 {
		return errors.New("the ForeverVM daemon ends the connection")
	}
	return conn.SetDeadline(time.Time{})
}
