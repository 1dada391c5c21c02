package aiapps

import (
	"os/exec"
	"strconv"
	"time"
)

// politely is how long an app may take to end on its own.
const politely = 5 * time.Second

// quit is Computer.Quit. An app that is asked to close its window stays in the tray, as Claude
// Desktop does, so it is ended then. It is started again by its address: what is installed from the
// shop has no path that others may start.
func quit(running []Program) (again func() error, err error) {
	var which []string
	for _, one := range running {
		which = append(which, "/PID", strconv.Itoa(one.PID))
	}
	_ = exec.Command("taskkill", which...).Run() // what has no window refuses
	if ended(running, politely) != nil {
		_ = exec.Command("taskkill", append(which, "/F")...).Run() // the rest ends with the first
		if err := ended(running, politely); err != nil {
			return nil, err
		}
	}
	return func() error { return exec.Command("rundll32", "url.dll,FileProtocolHandler", "claude://").Run() }, nil
}
