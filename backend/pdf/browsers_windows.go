package pdf

import (
	"os"
	"os/exec"
	"path/filepath"
)

func browsers() []string {
	var all []string
	for _, variable := range []string{"ProgramFiles", "ProgramFiles(x86)", "LocalAppData"} {
		under := os.Getenv(variable)
		if under == "" {
			continue
		}
		for _, program := range []string{
			`Microsoft\Edge\Application\msedge.exe`, `Google\Chrome\Application\chrome.exe`, `BraveSoftware\Brave-Browser\Application\brave.exe`, `Chromium\Application\chrome.exe`,
		} {
			all = append(all, filepath.Join(under, program))
		}
	}
	return all
}

// alone has nothing to do: a browser's other processes end with the first.
func alone(*exec.Cmd) {}
