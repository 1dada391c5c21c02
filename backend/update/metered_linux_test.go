//go:build system

package update

import (
	"path/filepath"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"

	"github.com/forevervm/desktop/backend/credentials/keyringtest"
)

// What NetworkManager says of the connection is heeded, also where it only guesses; a stand-in says
// it here.
func TestAConnectionThatIsPaidForByVolume(t *testing.T) {
	const variable = "DBUS_SYSTEM_BUS_ADDRESS"
	t.Setenv(variable, "unix:path="+filepath.Join(t.TempDir(), "none"))
	if metered(t.Context()) {
		t.Error("without a bus, it is paid for by volume")
	}
	bus, err := keyringtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bus.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Setenv(variable, bus.Address)
	if metered(t.Context()) {
		t.Error("without NetworkManager, it is paid for by volume")
	}
	conn, err := dbus.Connect(bus.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	said, err := prop.Export(conn, networkManagerPath, prop.Map{networkManager: {"Metered": {Value: uint32(0), Emit: prop.EmitFalse}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.RequestName(networkManager, dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	for state, want := range []bool{0: false, 1: true, 2: false, 3: true, 4: false} { // not known, yes, no, guessed yes, guessed no
		said.SetMust(networkManager, "Metered", uint32(state))
		if metered(t.Context()) != want {
			t.Errorf("NetworkManager says %d, and it is paid for by volume: %v", state, !want)
		}
	}
}
