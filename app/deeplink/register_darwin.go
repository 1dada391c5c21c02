package deeplink

// Register has nothing to do: macOS reads the addresses that a program opens in its bundle's
// Info.plist.
func Register(Program) error { return nil }
