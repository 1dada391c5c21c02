//go:build linux

package sandbox

import "testing"

func TestRestrict(t *testing.T) {
	if got := restrict("fpu,avx2,avx512f,amx_tile,sha_ni,bmi2\n"); got != "fpu,avx2,bmi2" {
		t.Errorf("kept %q", got)
	}
	if got := restrict(""); got != "" {
		t.Errorf("of nothing, kept %q", got)
	}
}
