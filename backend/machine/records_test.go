package machine

import (
	"slices"
	"testing"
)

func TestTheEffectsOfACheckpoint(t *testing.T) {
	running := 7
	for _, one := range []struct {
		c    CheckpointRecord
		want []Span
	}{
		{CheckpointRecord{Checkpoint: Checkpoint{LastSeq: -1}}, nil},
		{CheckpointRecord{Checkpoint: Checkpoint{LastSeq: 3}}, []Span{{0, 3}}},
		{CheckpointRecord{Checkpoint: Checkpoint{LastSeq: 3}, Lost: []Span{{0, 1}, {3, 3}}}, []Span{{2, 2}}},
		{CheckpointRecord{Checkpoint: Checkpoint{LastSeq: 7, RunningSeq: &running}, Lost: []Span{{2, 2}}}, []Span{{0, 1}, {3, 6}}},
		{CheckpointRecord{Checkpoint: Checkpoint{LastSeq: 3}, Lost: []Span{{2, 9}}}, []Span{{0, 1}}},
	} {
		if got := one.c.Effects(); !slices.Equal(got, one.want) {
			t.Errorf("%+v: %v", one.c, got)
		}
	}
}
