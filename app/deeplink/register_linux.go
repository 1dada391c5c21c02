package deeplink

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/adrg/xdg"
	"github.com/google/renameio/v2"

	"github.com/forevervm/desktop/app/desktopentry"
)

// Register has this person's desktop open the addresses with the program, which also appears among
// its applications then. Where a package has brought an entry for all, nothing is to be done.
func Register(p Program) error {
	file := p.ID + ".desktop"
	for _, folder := range xdg.DataDirs {
		if _, err := os.Stat(filepath.Join(folder, "applications", file)); err == nil {
			return nil
		}
	}
	picture := filepath.Join(xdg.DataHome, "icons", "hicolor", "128x128", "apps", p.ID+".png")
	want := desktopentry.Group{
		{Key: "Type", Value: "Application"}, {Key: "Name", Value: p.Name}, {Key: "Comment", Value: "Python machines for your AI apps, on this computer"},
		{Key: "Exec", Value: desktopentry.Exec(p.Path, "%u")}, {Key: "Icon", Value: p.ID}, {Key: "Categories", Value: "Development;"},
		{Key: "MimeType", Value: "x-scheme-handler/" + Scheme + ";"}, {Key: "StartupWMClass", Value: p.WindowClass}, {Key: "Terminal", Value: "false"},
	}
	path := filepath.Join(xdg.DataHome, "applications", file)
	if there, err := desktopentry.Read(path); err == nil && there.Get("Exec") == want.Get("Exec") && there.Get("MimeType") == want.Get("MimeType") {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(picture), 0o700); err != nil {
		return err
	}
	if err := errors.Join(renameio.WriteFile(picture, p.Icon, 0o644), desktopentry.Write(path, want)); err != nil {
		return err
	}
	// Desktops look in the index that this makes. It may not be installed; what has no use for the
	// index reads the file.
	_ = exec.Command("update-desktop-database", filepath.Dir(path)).Run()
	// A program that the person has chosen for the addresses stays chosen.
	if chosen, err := exec.Command("xdg-mime", "query", "default", "x-scheme-handler/"+Scheme).Output(); err == nil && len(chosen) == 0 {
		return exec.Command("xdg-mime", "default", file, "x-scheme-handler/"+Scheme).Run()
	}
	return nil
}
