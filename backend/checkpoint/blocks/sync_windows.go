package blocks

// SyncDir does nothing: Windows keeps names durable on its own and cannot open a folder to sync it.
func SyncDir(string) error { return nil }
