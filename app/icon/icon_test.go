package icon

import (
	"bytes"
	"encoding/binary"
	"image/png"
	"testing"

	"github.com/forevervm/desktop/app/overview"
)

func TestMoodsLookDifferent(t *testing.T) {
	seen := map[string]overview.Mood{}
	for _, mood := range []overview.Mood{overview.Idle, overview.Running, overview.Attention} {
		data := PNG(Draw(32, mood))
		if other, twice := seen[string(data)]; twice {
			t.Errorf("the moods %v and %v look the same", mood, other)
		}
		seen[string(data)] = mood
		picture, err := png.Decode(bytes.NewReader(data))
		if err != nil || picture.Bounds().Dx() != 32 {
			t.Errorf("mood %v: %v", mood, err)
		}
	}
}

func TestAnICOHasWhatItsHeaderSays(t *testing.T) {
	data := ICO(Draw(32, overview.Idle))
	size, offset := binary.LittleEndian.Uint32(data[14:]), binary.LittleEndian.Uint32(data[18:])
	if int(size+offset) != len(data) || data[6] != 32 || data[7] != 32 {
		t.Errorf("%d bytes at %d of %d", size, offset, len(data))
	}
}
