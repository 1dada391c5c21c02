//go:build !windows && real

package mcpserver_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/connect/connecttest"
)

// The official SDKs' clients ask their person, as each revision of the protocol and each transport
// has it.
func TestOfficialClientsAskTheirPerson(t *testing.T) {
	dir, interpreter := node(t), python(t)
	home := connecttest.Home(t)
	d := connecttest.Start(t, home)
	if _, err := d.Client("the test").ChangeSettings(t.Context(), map[string]any{"network": "ask"}); err != nil {
		t.Fatal(err)
	}
	program := connecttest.Program(t, "forevervm")
	for name, args := range map[string][]string{
		"http, " + stateless:  {"auto", d.URL, d.Token},
		"http, older":         {"legacy", d.URL, d.Token},
		"stdio, " + stateless: {"auto", program, home},
		"stdio, older":        {"legacy", program, home},
	} {
		t.Run(name, func(t *testing.T) {
			for sdk, said := range map[string]string{
				"Python":     output(t, ".", interpreter, append([]string{filepath.Join("testdata", "conformance", "ask.py")}, args...)...),
				"TypeScript": output(t, dir, "node", append([]string{"ask.mjs"}, args...)...),
			} {
				if !strings.HasSuffix(said, "fine\n") {
					t.Errorf("%s did not come to its end: %s", sdk, said)
				}
				if older := args[0] == "legacy"; older == strings.HasPrefix(said, stateless) {
					t.Errorf("%s spoke another revision: %s", sdk, said)
				}
			}
		})
	}
}
