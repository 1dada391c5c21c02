//go:build linux && real

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The programs of docs/sdk.md run as they stand there.
func TestDocumentedProgramsRun(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(repo(t), "docs", "sdk.md"))
	if err != nil {
		t.Fatal(err)
	}
	programs := regexp.MustCompile("(?s)```python\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(programs) < 3 {
		t.Fatalf("docs/sdk.md has %d programs", len(programs))
	}
	python, d := pythonEnv(t), serve(t, newHome(t))
	for _, program := range programs {
		if out := run(t, t.TempDir(), d.env(), python, "-c", program[1]); out == "" {
			t.Errorf("it prints nothing:\n%s", program[1])
		}
	}
}
