package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/backup"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/machine/service"
	"github.com/forevervm/desktop/backend/parcel"
)

// The settings of backups, which are none of the machines'.
const (
	backupFolderKey = "backup_folder"
	backupKeepKey   = "backup_keep"
)

// mostCopies is how many copies of a machine may be kept.
const mostCopies = 100

// backupPlan reads them. What is wrong with the file was told at the start.
func backupPlan(dirs home.Dirs) backup.Plan {
	file, _ := dirs.ReadSettings()
	plan := backup.Plan{Keep: backup.Usual}
	_ = json.Unmarshal(file[backupFolderKey], &plan.Folder)
	if n, err := strconv.Atoi(string(file[backupKeepKey])); err == nil && n >= 1 && n <= mostCopies {
		plan.Keep = n
	}
	return plan
}

// copies is the rule of backup_keep.
func copies(value json.RawMessage, _ *service.Settings) error {
	if n, err := strconv.Atoi(string(value)); err != nil || n < 1 || n > mostCopies {
		return fmt.Errorf("a whole number from 1 to %d", mostCopies)
	}
	return nil
}

// absolute is the rule of backup_folder, as far as it can be told without looking at the disk,
// which may not be connected.
func absolute(value json.RawMessage, _ *service.Settings) error {
	var path string
	if json.Unmarshal(value, &path) != nil || path != "" && !filepath.IsAbs(path) {
		return errors.New("the whole path of a folder, from the top of the disk, or empty for no backups")
	}
	return nil
}

// mayBackUpTo says why a folder that is chosen now is none for backups.
func (s *settings) mayBackUpTo(value json.RawMessage) error {
	var path string
	if err := json.Unmarshal(value, &path); err != nil || path == "" {
		return err
	}
	real, err := filepath.EvalSymlinks(path)
	var info os.FileInfo
	if err == nil {
		info, err = os.Stat(real)
	}
	if err != nil || !info.IsDir() {
		return fmt.Errorf("there is no folder %s. Make it first, or connect its disk", path)
	}
	for _, own := range []string{s.dirs.Folder(), s.dirs.Data, s.dirs.Config} {
		if inside, err := filepath.EvalSymlinks(own); err == nil && within(real, inside) {
			return fmt.Errorf("%s is in a folder of ForeverVM's own. Choose another, best on another disk", path)
		}
	}
	probe, err := os.CreateTemp(real, ".forevervm-*")
	if err != nil {
		return fmt.Errorf("nothing can be written into %s: %w", path, err)
	}
	probe.Close()
	return os.Remove(probe.Name())
}

// within says whether a path is a folder or lies in it.
func within(path, folder string) bool {
	rest, err := filepath.Rel(folder, path)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator))
}

// backups makes what keeps copies of machines.
func (d *daemon) backups(machines backup.Machines, parcels *parcel.Desk) *backup.Keeper {
	return backup.New(backup.Config{
		Dirs: d.dirs, Machines: machines, Parcels: parcels, FreeDisk: freeDisk, Logger: d.log, Told: d.notes.backedUp,
		Plan: func() backup.Plan { return backupPlan(d.dirs) },
	})
}

// backupsOf shows a Keeper to the API.
type backupsOf struct{ *backup.Keeper }

// Backups tells how things stand.
func (b backupsOf) Backups(ctx context.Context) (api.Backups, error) {
	now, err := b.Status(ctx)
	if err != nil {
		return api.Backups{}, err
	}
	told := api.Backups{Folder: now.Folder, Keep: now.Keep, Running: now.Running, Problem: now.Problem, Copies: []api.Backup{}}
	if !now.GoodAt.IsZero() {
		told.GoodAt = &now.GoodAt
	}
	for _, one := range now.Copies {
		told.Copies = append(told.Copies, api.Backup{Machine: one.Machine, File: one.File, Size: one.Size, At: one.At})
	}
	return told, nil
}

// BackUp begins a round.
func (b backupsOf) BackUp(ctx context.Context) (api.Backups, error) {
	if err := b.Start(); err != nil {
		return api.Backups{}, err
	}
	return b.Backups(ctx)
}
