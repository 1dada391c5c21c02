package aiapps

import (
	"path/filepath"

	"github.com/forevervm/desktop/backend/home"
)

// Here is the manager of this computer's apps, which are told to start this executable over these
// folders. The launcher is pointed at it.
func Here(dirs home.Dirs, executable string) (*Manager, error) {
	computer, err := ThisComputer()
	if err != nil {
		return nil, err
	}
	if err := dirs.Make(); err != nil {
		return nil, err
	}
	if err := dirs.PointLauncher(executable); err != nil {
		return nil, err
	}
	server := Server{Program: dirs.Launcher(executable), Args: []string{"mcp"}}
	if dirs.Root != "" {
		server.Args = append(server.Args, "--home", dirs.Root)
	}
	return New(Config{
		Computer: computer, Server: server, Folder: dirs.AppsDir(), Extension: filepath.Join(filepath.Dir(executable), "forevervm.mcpb"),
	}), nil
}
