package daemon

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/checkpoint/blocks"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/home"
)

// CheckpointReport is what was found among the checkpoints.
type CheckpointReport struct {
	Whole       int   `json:"whole"`       // checkpoints that lie there as they were written
	Checkpoints int   `json:"checkpoints"` // those that are kept as blocks
	Packs       int   `json:"packs"`
	Blocks      int   `json:"blocks"`
	Bytes       int64 `json:"bytes"` // that all packs take
	// Damage says in one sentence each what is not as it was written.
	Damage []string `json:"damage"`
	// Left says in one sentence each what nothing can be told of: the system does not give it back,
	// or a newer program made it.
	Left []string `json:"left"`
	// Aside are the paths of the damaged packs that were set aside. What was whole of them was
	// rewritten.
	Aside []string         `json:"aside"`
	Lost  []LostCheckpoint `json:"lost"`
}

// LostCheckpoint is one that cannot be restored any more.
type LostCheckpoint struct {
	Machine    string `json:"machine"` // its id; "" for a template
	Checkpoint string `json:"checkpoint"`
	Why        string `json:"why"`
	Instead    string `json:"instead,omitempty"` // the nearest checkpoint before it, or else after it, that can be
}

// CheckCheckpoints looks at the checkpoints under a home, as Config.Home names it, whether a daemon
// runs or not. With readData it reads every byte of theirs; else it looks only whether everything
// is there.
func CheckCheckpoints(ctx context.Context, homeDir string, readData bool) (CheckpointReport, error) {
	dirs, err := home.Resolve(homeDir)
	if err != nil {
		return CheckpointReport{}, err
	}
	return inspect(ctx, dirs, readData, func(s *blocks.Store) (blocks.Report, error) { return s.Check(ctx, readData) })
}

// RepairCheckpoints is CheckCheckpoints that reads every byte, mends what can be mended, and sets
// aside what cannot. It fails with ErrRuns while a daemon runs, and none begins meanwhile: what
// machines may be returned to is not to change under it.
func RepairCheckpoints(ctx context.Context, homeDir string) (CheckpointReport, error) {
	dirs, err := home.Resolve(homeDir)
	if err != nil {
		return CheckpointReport{}, err
	}
	if err := dirs.Make(); err != nil {
		return CheckpointReport{}, err
	}
	unlock, err := lock(ctx, dirs)
	if err != nil {
		return CheckpointReport{}, err
	}
	defer unlock()
	return inspect(ctx, dirs, true, func(s *blocks.Store) (blocks.Report, error) { return s.Repair(ctx) })
}

func inspect(ctx context.Context, dirs home.Dirs, readData bool, look func(*blocks.Store) (blocks.Report, error)) (CheckpointReport, error) {
	found, err := look(local.OpenBlocks(dirs.Data))
	if err != nil {
		return CheckpointReport{}, err
	}
	whole, changed, err := local.Whole(ctx, dirs.Data, readData)
	report := CheckpointReport{
		Whole: whole, Checkpoints: found.Recipes, Packs: found.Packs, Blocks: found.Blocks, Bytes: found.Bytes,
		Damage: append([]string{}, found.Damage...), Left: append([]string{}, found.Left...), Aside: append([]string{}, found.Aside...), Lost: []LostCheckpoint{},
	}
	gone := map[string]string{} // by the checkpoint's path
	for path, why := range found.Lost {
		path = strings.TrimSuffix(path, filepath.Ext(path))
		if folder := checkpoint.Folder(filepath.Dir(path)); changed[path] == nil && folder.Whole(filepath.Base(path)) {
			report.Damage = append(report.Damage, why) // its files are there
			continue
		}
		gone[path] = why
	}
	for path, why := range changed {
		if _, lost := gone[path]; !lost && checkpoint.Folder(filepath.Dir(path)).Kept(filepath.Base(path)) {
			report.Damage = append(report.Damage, why.Error()) // its blocks are there
			continue
		}
		gone[path] = why.Error()
	}
	for path, why := range gone {
		owner := filepath.Dir(filepath.Dir(path))
		lost := LostCheckpoint{Checkpoint: filepath.Base(path), Why: why}
		if filepath.Base(filepath.Dir(owner)) == "machines" {
			lost.Machine = filepath.Base(owner)
			lost.Instead = nearest(owner, lost.Checkpoint, gone)
		}
		report.Lost = append(report.Lost, lost)
	}
	slices.SortFunc(report.Lost, func(a, b LostCheckpoint) int {
		return strings.Compare(a.Machine+a.Checkpoint, b.Machine+b.Checkpoint)
	})
	return report, err
}

// nearest is the checkpoint of the machine in the folder dir that is nearest to one and not lost.
func nearest(dir, to string, lost map[string]string) string {
	folder := local.Checkpoints(dir)
	all, err := folder.List()
	if err != nil {
		return ""
	}
	before, after := "", ""
	for _, m := range all { // oldest first
		_, gone := lost[folder.Path(m.ID)]
		switch {
		case gone || m.ID == to:
		case m.ID < to:
			before = m.ID
		case after == "":
			after = m.ID
		}
	}
	if before == "" {
		return after
	}
	return before
}
