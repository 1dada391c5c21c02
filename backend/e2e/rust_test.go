//go:build linux && soak

package e2e

import (
	"path/filepath"
	"testing"
)

// Several processes of the published Rust SDK work at once on one daemon, unchanged, beside others
// of the Python SDK.
func TestRustSDK(t *testing.T) {
	d := serve(t, newHome(t))
	programs, target := pythonPrograms(t, "d", "e"), cache(t, "rust")
	run(t, filepath.Join(repo(t), "backend", "e2e", "testdata", "rust"), d.env("CARGO_TARGET_DIR="+target, "CARGO_PROFILE_DEV_DEBUG=0"), "cargo", "build", "--quiet", "--locked")
	for range 3 {
		programs = append(programs, []string{filepath.Join(target, "debug", "forevervm-sdk-program")})
	}
	together(t, d, programs)
}
