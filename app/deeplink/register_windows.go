package deeplink

import (
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// Register has Windows open the addresses with the program, for this person.
func Register(p Program) error {
	const class = `Software\Classes\` + Scheme
	command := windows.EscapeArg(p.Path) + ` "%1"`
	for _, one := range []struct{ path, name, value string }{
		{class, "", "URL:" + p.Name}, {class, "URL Protocol", ""}, {class + `\shell\open\command`, "", command},
	} {
		key, _, err := registry.CreateKey(registry.CURRENT_USER, one.path, registry.SET_VALUE)
		if err != nil {
			return err
		}
		err = key.SetStringValue(one.name, one.value)
		_ = key.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
