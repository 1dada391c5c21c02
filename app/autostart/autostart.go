// Package autostart has a program started whenever the person logs in, in the way of the system,
// and heeds the system's own switch for that.
package autostart

// Entry is a program that may be started at login.
type Entry struct {
	ID      string   // names the entry on this computer: letters, digits, hyphens
	Name    string   // what people call the program
	Command []string // the program's absolute path, and its arguments
}
