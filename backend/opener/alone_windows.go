package opener

import "os/exec"

// alone has nothing to do: what is opened does not belong to this program.
func alone(*exec.Cmd) {}
