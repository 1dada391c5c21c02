package exchange

import (
	"os"

	"golang.org/x/sys/windows"
)

// links returns how many names a file has on its disk. os.Stat does not tell here. Not tested on
// Windows.
func links(file *os.File) (int, error) {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(file.Fd()), &info); err != nil {
		return 0, err
	}
	return int(info.NumberOfLinks), nil
}
