package localsocket

import (
	"context"
	"net"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

// Address names the pipe of a home that instance names among others on this computer.
func Address(_, instance string) string { return `\\.\pipe\forevervm-` + instance }

// Listen opens the pipe at an address for this user alone. It fails where there is one.
func Listen(address string) (net.Listener, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, err
	}
	return winio.ListenPipe(address, &winio.PipeConfig{SecurityDescriptor: "D:P(A;;GA;;;" + user.User.Sid.String() + ")"})
}

// Dial connects to the pipe at an address.
func Dial(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return winio.DialPipeContext(ctx, address)
}
