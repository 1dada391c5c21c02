package update

import (
	"context"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	networkManager     = "org.freedesktop.NetworkManager"
	networkManagerPath = "/org/freedesktop/NetworkManager"
)

// metered asks NetworkManager whether the way to the internet is paid for by what goes over it, as
// a telephone's mostly is. Where none runs, as on a server, it is not.
func metered(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	bus, err := dbus.ConnectSystemBus(dbus.WithContext(ctx))
	if err != nil {
		return false
	}
	defer func() { _ = bus.Close() }() // it is asked once
	var said dbus.Variant
	asked := bus.Object(networkManager, networkManagerPath).CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", dbus.FlagNoAutoStart, networkManager, "Metered")
	if asked.Store(&said) != nil {
		return false
	}
	const yes, guessed = 1, 3 // of NMMetered
	state, _ := said.Value().(uint32)
	return state == yes || state == guessed
}
