package daemon

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forevervm/desktop/backend/checkpoint/blocks"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/home"
)

// CheckpointReport is what was found among the checkpoints that are kept as blocks.
type CheckpointReport struct {
	Checkpoints int   `json:"checkpoints"`
	Packs       int   `json:"packs"`
	Blocks      int   `json:"blocks"`
	Bytes       int64 `json:"bytes"` // that all of them take
	// Damage says in one sentence each what is not as it was written.
	Damage []string         `json:"damage"`
	Lost   []LostCheckpoint `json:"lost"`
}

// LostCheckpoint is one that cannot be restored any more.
type LostCheckpoint struct {
	Machine    string `json:"machine"` // its id; "" for a template
	Checkpoint string `json:"checkpoint"`
	Why        string `json:"why"`
	Instead    string `json:"instead,omitempty"` // the nearest checkpoint before it, or else after it, that can be
}

// CheckCheckpoints looks at the checkpoints under a home, as Config.Home names it, whether a daemon runs or not. With readData it reads every
// byte of theirs; else only whether everything is there.
func CheckCheckpoints(ctx context.Context, homeDir string, readData bool) (CheckpointReport, error) {
	return inspect(homeDir, func(s *blocks.Store) (blocks.Report, error) { return s.Check(ctx, readData) })
}

// RepairCheckpoints is CheckCheckpoints that reads every byte, mends what can be mended, and sets aside what cannot.
func RepairCheckpoints(ctx context.Context, homeDir string) (CheckpointReport, error) {
	return inspect(homeDir, func(s *blocks.Store) (blocks.Report, error) { return s.Repair(ctx) })
}

func inspect(homeDir string, look func(*blocks.Store) (blocks.Report, error)) (CheckpointReport, error) {
	dirs, err := home.Resolve(homeDir)
	if err != nil {
		return CheckpointReport{}, err
	}
	found, err := look(local.OpenBlocks(dirs.Data))
	report := CheckpointReport{Checkpoints: found.Recipes, Packs: found.Packs, Blocks: found.Blocks, Bytes: found.Bytes, Damage: found.Damage, Lost: []LostCheckpoint{}}
	if report.Damage == nil {
		report.Damage = []string{}
	}
	for path, why := range found.Lost {
		owner := filepath.Dir(filepath.Dir(path))
		lost := LostCheckpoint{Checkpoint: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Why: why}
		if filepath.Base(filepath.Dir(owner)) == "machines" {
			lost.Machine = filepath.Base(owner)
			lost.Instead = nearest(owner, lost.Checkpoint, found.Lost)
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
		_, gone := lost[folder.Recipe(m.ID)]
		switch {
		case gone && !folder.Whole(m.ID) || m.ID == to:
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
