package mcpserver

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // a picture may come as one
	"image/png"
	"math"

	"golang.org/x/image/draw"
)

const (
	maxImageBytes = 8 << 20  // fetched from the daemon at most
	maxPixels     = 64 << 20 // decoded at most: a small file can claim to be enormous
	smallestSide  = 32       // pixels; smaller shows nothing
)

var errTooLarge = errors.New("the picture does not fit")

// picture is one image of an instruction.
type picture struct {
	data []byte
	mime string // image/png or image/jpeg
}

// base64Len is how long data gets in a reply.
func base64Len(data []byte) int { return base64.StdEncoding.EncodedLen(len(data)) }

// fit returns the picture in at most budget bytes of base64, drawn smaller if it must be. The data
// come from a machine and are hostile: what cannot be decoded within bounds is an error.
func (p picture) fit(budget int) (picture, error) {
	config, _, err := image.DecodeConfig(bytes.NewReader(p.data))
	if err != nil {
		return picture{}, fmt.Errorf("not a picture: %w", err)
	}
	if base64Len(p.data) <= budget {
		return p, nil
	}
	if config.Width <= 0 || config.Height <= 0 || config.Width > maxPixels/config.Height {
		return picture{}, fmt.Errorf("%w: it is %d × %d pixels", errTooLarge, config.Width, config.Height)
	}
	whole, _, err := image.Decode(bytes.NewReader(p.data))
	if err != nil {
		return picture{}, fmt.Errorf("not a picture: %w", err)
	}
	size := whole.Bounds().Size()
	// Bytes grow with the area, roughly; a little less, so that a second attempt is seldom needed.
	scale := math.Sqrt(float64(budget)/float64(base64Len(p.data))) * 0.95
	for ; ; scale *= 0.75 {
		w, h := int(float64(size.X)*scale), int(float64(size.Y)*scale)
		if w < smallestSide || h < smallestSide {
			return picture{}, errTooLarge
		}
		small := image.NewRGBA(image.Rect(0, 0, w, h))
		draw.CatmullRom.Scale(small, small.Bounds(), whole, whole.Bounds(), draw.Src, nil)
		var out bytes.Buffer
		encoder := png.Encoder{CompressionLevel: png.BestCompression}
		if err := encoder.Encode(&out, small); err != nil {
			return picture{}, err
		}
		if base64Len(out.Bytes()) <= budget {
			return picture{data: out.Bytes(), mime: "image/png"}, nil
		}
	}
}
