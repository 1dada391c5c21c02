package home

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/windows"
)

// WritePrivate replaces a file all at once with one that only the user may read. The rights are set
// while the file is still empty, and are its own: what its folder grants to others is not
// inherited.
func WritePrivate(path string, data []byte) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = temp.Close()
			_ = os.Remove(temp.Name())
		}
	}()
	if err := restrictToUser(temp.Name()); err != nil {
		return err
	}
	if _, err := temp.Write(data); err != nil {
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	return patiently(func() error { return os.Rename(temp.Name(), path) })
}

// read returns what is in a file that may be replaced meanwhile: for that moment Windows refuses to
// open it.
func read(path string) (data []byte, err error) {
	err = patiently(func() error {
		data, err = os.ReadFile(path)
		return err
	})
	return data, err
}

// remove takes a file away.
func remove(path string) error { return patiently(func() error { return os.Remove(path) }) }

// removeAll takes a folder away, and all that is in it; links are not followed. One that is not
// there is none to fail for.
func removeAll(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		take := remove
		if entry.IsDir() {
			take = removeAll
		}
		if err := take(filepath.Join(folder, entry.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return remove(folder)
}

// patiently does what Windows refuses while any program, a virus scanner say, has the file open, if
// only to read it.
func patiently(do func() error) error {
	for end := time.Now().Add(2 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := do()
		if err == nil || time.Now().After(end) ||
			!errors.Is(err, windows.ERROR_SHARING_VIOLATION) && !errors.Is(err, windows.ERROR_ACCESS_DENIED) {
			return err
		}
	}
}

// restrictToUser gives a file an access list that names the present user alone.
func restrictToUser(path string) error {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return fmt.Errorf("who runs this program cannot be told: %w", err)
	}
	descriptor, err := windows.SecurityDescriptorFromString("D:P(A;;FA;;;" + user.User.Sid.String() + ")")
	if err != nil {
		return err
	}
	list, _, err := descriptor.DACL()
	if err != nil {
		return err
	}
	return windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT,
		windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, list, nil)
}
