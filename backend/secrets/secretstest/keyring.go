// Package secretstest has a keyring for tests that is held in memory. The scripts of the command
// line and the page's tests use the operating system's.
package secretstest

// Keyring is a secrets.Keyring.
type Keyring map[string]string

// Get returns a value.
func (k Keyring) Get(name string) (string, error) { return k[name], nil }

// Set keeps a value.
func (k Keyring) Set(name, value string) error { k[name] = value; return nil }

// Delete forgets a value.
func (k Keyring) Delete(name string) error { delete(k, name); return nil }
