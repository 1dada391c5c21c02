package systemproxy

import (
	"context"
	"net/url"

	"github.com/godbus/dbus/v5"
)

// system asks the desktop, GNOME or KDE, by the portal that stands for all of them
// (org.freedesktop.portal.ProxyResolver), which also reads automatic configurations. Where none
// runs, as on a server, there is no proxy: none is started for this.
func system(ctx context.Context, address string) *url.URL {
	conn, err := dbus.SessionBusPrivateNoAutoStartup(dbus.WithContext(ctx))
	if err != nil {
		return nil
	}
	defer func() { _ = conn.Close() }() // it is asked once
	if conn.Auth(nil) != nil || conn.Hello() != nil {
		return nil
	}
	var proxies []string
	portal := conn.Object("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop")
	if err := portal.CallWithContext(ctx, "org.freedesktop.portal.ProxyResolver.Lookup", dbus.FlagNoAutoStart, address).Store(&proxies); err != nil {
		return nil
	}
	for _, said := range proxies { // in the order in which they are to be tried
		if said == "direct://" {
			return nil
		}
		if proxy := parse(said); proxy != nil {
			return proxy
		}
	}
	return nil
}
