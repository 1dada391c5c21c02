package mcpserver

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"testing"
)

// noise is a picture that no encoder makes small.
func noise(t *testing.T, w, h int) picture {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.Set(x, y, color.RGBA{uint8(random.Uint32()), uint8(random.Uint32()), uint8(random.Uint32()), 255})
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		t.Fatal(err)
	}
	return picture{data: out.Bytes(), mime: "image/png"}
}

func TestAPictureThatFitsStaysAsItIs(t *testing.T) {
	p := noise(t, 100, 80)
	got, err := p.fit(base64Len(p.data))
	if err != nil || !bytes.Equal(got.data, p.data) {
		t.Errorf("it was changed: %v", err)
	}
}

func TestALargePictureIsDrawnSmaller(t *testing.T) {
	p := noise(t, 900, 600)
	for _, budget := range []int{base64Len(p.data) - 1, 300_000, 50_000} {
		got, err := p.fit(budget)
		if err != nil {
			t.Fatalf("%d: %v", budget, err)
		}
		if base64Len(got.data) > budget {
			t.Errorf("%d bytes for a budget of %d", base64Len(got.data), budget)
		}
		config, err := png.DecodeConfig(bytes.NewReader(got.data))
		if err != nil {
			t.Fatal(err)
		}
		if ratio := float64(config.Width) / float64(config.Height); ratio < 1.4 || ratio > 1.6 {
			t.Errorf("%d × %d has other proportions than 900 × 600", config.Width, config.Height)
		}
	}
}

func TestHostilePicturesAreErrors(t *testing.T) {
	if _, err := noise(t, 500, 500).fit(500); !errors.Is(err, errTooLarge) {
		t.Errorf("no room: %v", err)
	}
	for name, data := range map[string][]byte{"nothing": nil, "text": []byte("hello"), "cut off": noise(t, 50, 50).data[:200]} {
		if got, err := (picture{data: data, mime: "image/png"}).fit(100); err == nil {
			t.Errorf("%s is taken for a picture of %d bytes", name, len(got.data))
		}
	}
	if _, err := (picture{data: bomb(60_000, 60_000), mime: "image/png"}).fit(100); !errors.Is(err, errTooLarge) {
		t.Errorf("a picture of 14 GB: %v", err)
	}
}

// bomb is the beginning of a picture that claims to be enormous.
func bomb(w, h uint32) []byte {
	header := append([]byte("IHDR"), binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)...)
	header = append(header, 8, 6, 0, 0, 0)
	out := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	out = append(out, header...)
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(header))
	return append(out, make([]byte, 200)...)
}
