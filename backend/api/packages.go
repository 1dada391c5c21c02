package api

import (
	"fmt"
	"regexp"
	"strings"
)

// MaxInstalled is how many requirements there may be at once.
const MaxInstalled = 50

// requirement is what pip takes as one: a name, extras, versions. Nothing that a shell or pip could
// take for something else.
var requirement = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,100}(\[[A-Za-z0-9._,-]{1,100}\])?((===?|>=|<=|~=|!=|<|>)[A-Za-z0-9.*+!_-]{1,50}(,|$))*$`)

// InstallCode is the code with which a machine installs packages. Its error is a sentence.
func InstallCode(packages []string) (string, error) {
	if len(packages) == 0 || len(packages) > MaxInstalled {
		return "", fmt.Errorf("Name between 1 and %d packages.", MaxInstalled)
	}
	quoted := make([]string, len(packages))
	for i, p := range packages {
		if !requirement.MatchString(p) {
			return "", fmt.Errorf("%.200q is not a package requirement. Give names with optional versions, such as \"polars\" or \"pandas>=2.2\".", p)
		}
		quoted[i] = "'" + p + "'"
	}
	return fmt.Sprintf(`try:
    %%pip install --disable-pip-version-check --no-input %s
except RuntimeError:
    raise RuntimeError("pip could not install %s: its output says why. Where the user lets the REPL have no network, only what is already there, or a file in it, can be installed.") from None`,
		strings.Join(quoted, " "), strings.Join(packages, ", ")), nil
}
