package egress

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// Whatever a machine says to the proxy, it gets an end and no address that is not public.
func FuzzGreeting(f *testing.F) {
	for _, said := range []string{
		"CONNECT public.example:443 HTTP/1.1\r\nHost: public.example\r\n\r\n\x16\x03\x01",
		"GET http://127.1/ HTTP/1.1\r\nHost: public.example\r\nContent-Length: 1\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: [::ffff:127.0.0.1]:80\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
		"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50",
		"\x05\x01\x00\x05\x01\x00\x03\x0apublic.exa\x00\x50",
		"\x05\x02\x01\x00\x05\x01\x00\x04" + strings.Repeat("\x00", 15) + "\x01\x00\x50",
	} {
		f.Add([]byte(said))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		w := newWorld(t, machine.NetworkPublic)
		w.names["public.example"] = []string{"93.184.216.34", "127.0.0.1", "10.0.0.1", "169.254.169.254"}
		conn, err := net.Dial("tcp", w.url.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = conn.Write(said)
		_ = conn.(*net.TCPConn).CloseWrite()
		if _, err := io.Copy(io.Discard, conn); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Error("it has no end")
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, to := range w.dialled {
			if addr := netip.MustParseAddrPort(to).Addr(); addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast() || addr.IsUnspecified() || addr.IsMulticast() {
				t.Errorf("%s is dialed", to)
			}
		}
	})
}

// Whatever a website answers, in whatever pieces: no form of a secret passes, and all else does.
func FuzzScrubbing(f *testing.F) {
	f.Add([]byte("data: sk-secret/value\n\nsk-secret"), byte(3))
	f.Add([]byte("sk-secretsk-secret/valuesk-"), byte(1))
	placeholders := map[string]string{"sk-secret/value": "FIRST", "sk-secret": "SECOND"}
	f.Fuzz(func(t *testing.T, answer []byte, pieces byte) {
		s := newScrubber(placeholders)
		var from io.Reader = bytes.NewReader(answer)
		if pieces%2 == 1 {
			from = iotest.OneByteReader(from)
		}
		told, err := io.ReadAll(s.body(io.NopCloser(from)))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for value := range placeholders {
			for _, form := range formsOf(value) {
				found = found || bytes.Contains(answer, []byte(form))
				if bytes.Contains(told, []byte(form)) && !strings.Contains("FIRST SECOND", form) {
					t.Errorf("%q has %q", told, form)
				}
			}
		}
		if !found && !bytes.Equal(answer, told) {
			t.Errorf("%q became %q", answer, told)
		}
	})
}
