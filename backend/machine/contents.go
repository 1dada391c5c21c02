package machine

// Contents is what a state of a machine holds. It comes from inside, and may be made up.
type Contents struct {
	Variables []Variable // by name
	// Files are those under the working folder, by path, which is their name here. Those whose
	// names begin with a dot are left out.
	Files []FileEntry
	// Partial says that there are more variables, files or folders than were looked at.
	Partial bool
}
