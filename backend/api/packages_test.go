package api

import (
	"strings"
	"testing"
)

func TestOnlyRequirementsAreInstalled(t *testing.T) {
	code, err := InstallCode([]string{"polars", "pandas>=2.2,<3", "psycopg[binary]==3.2.*"})
	if err != nil || !strings.HasPrefix(code, "try:\n    %pip install --disable-pip-version-check --no-input 'polars' 'pandas>=2.2,<3' 'psycopg[binary]==3.2.*'\n") {
		t.Errorf("%q, %v", code, err)
	}
	for _, wrong := range []string{"", "-r/etc/passwd", "--index-url=http://evil", "a b", "a'; rm -rf /; '", "a\nb", "{x}", "$(id)", "a`id`", "git+https://evil/x", "./a", "/a", "a@b", "a;b", "a\"b"} {
		if code, err := InstallCode([]string{wrong}); err == nil {
			t.Errorf("%q is installed by %q", wrong, code)
		}
	}
	if _, err := InstallCode(make([]string, MaxInstalled+1)); err == nil {
		t.Error("too many are installed")
	}
	if _, err := InstallCode(nil); err == nil {
		t.Error("nothing is installed")
	}
}
