package exchange

import "os"

// markDownloaded tells the system that a file came from elsewhere. Windows then asks before it runs
// a program and shows no previews, and Office opens documents read-only. Not tested on Windows.
func markDownloaded(file *os.File, from string) error {
	// [MS-FSCC], "Zone.Identifier Stream Name". Zone 3 is the internet.
	return os.WriteFile(file.Name()+":Zone.Identifier", []byte("[ZoneTransfer]\r\nZoneId=3\r\nHostUrl="+from+"\r\n"), 0o600)
}
