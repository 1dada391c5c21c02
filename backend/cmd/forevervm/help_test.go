package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestEveryCommandIsExplained(t *testing.T) {
	root := (&app{}).root()
	used := map[string]bool{}
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			each(sub)
			if !sub.IsAvailableCommand() || sub.Name() == "completion" || sub.Name() == "help" || sub.Parent().Name() == "completion" {
				continue
			}
			if sub.Example == "" && sub.Annotations[onlyGroup] == "" {
				t.Errorf("%s has no example", sub.CommandPath())
			}
			if groups[cmd.CommandPath()] != nil && sub.GroupID == "" {
				t.Errorf("%s is in no group", sub.CommandPath())
			}
		}
		used[cmd.CommandPath()] = true
	}
	each(root)
	for path := range examples {
		if !used[path] {
			t.Errorf("there is an example of %s, which does not exist", path)
		}
	}
}

// docs/cli.md is what `make generate` writes.
func TestReferenceIsGenerated(t *testing.T) {
	var page bytes.Buffer
	if err := reference((&app{}).root(), &page); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("../../../docs/cli.md")
	if err != nil || !bytes.Equal(kept, page.Bytes()) {
		t.Errorf("docs/cli.md is not what the program says: run `make generate` (%v)", err)
	}
}

func TestWrongCallsSayWhatIsRight(t *testing.T) {
	for call, want := range map[string]string{
		"machine lst":  "Did you mean \"list\"?",
		"machine nope": "`forevervm machine --help` lists them",
		"exec":         "call it as `forevervm exec NAME CODE|-",
		"machine fork": "call it as `forevervm machine fork NAME",
	} {
		var out, said bytes.Buffer
		status := run(t.Context(), nil, strings.Fields(call), strings.NewReader(""), &out, &said)
		if status != statusFailed || !strings.Contains(said.String(), want) {
			t.Errorf("%s: status %d, %q", call, status, said.String())
		}
	}
}
