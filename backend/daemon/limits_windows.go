package daemon

// leaveNoCore has nothing to do: Go programs leave no dump on Windows unless they ask for it.
func leaveNoCore() error { return nil }

// mostConnections is how many connections may be open at the port. Windows has no limit of handles
// that would run out before.
func mostConnections() int { return 8 << 10 }
