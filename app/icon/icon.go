// Package icon draws the program's icons: there is no picture file to keep in step with another.
package icon

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math"

	"github.com/forevervm/desktop/app/overview"
)

var (
	ground  = color.NRGBA{0x0f, 0x76, 0x6e, 0xff}
	sign    = color.NRGBA{0xff, 0xff, 0xff, 0xff}
	running = color.NRGBA{0x4a, 0xde, 0x80, 0xff}
	warning = color.NRGBA{0xf5, 0x9e, 0x0b, 0xff}
	dark    = color.NRGBA{0x1c, 0x19, 0x17, 0xff}
)

// Draw draws the icon for a mood, size pixels wide and high. The moods differ in the shape of a
// mark in the corner, not only in its colour: nothing, a disc, a triangle.
func Draw(size int, mood overview.Mood) image.Image {
	c := newCanvas(size)
	c.fill(ground, roundedSquare)
	c.fill(sign, lemniscate)
	switch mood {
	case overview.Running:
		c.fill(dark, disc(markX, markY, 15))
		c.fill(running, disc(markX, markY, 11.5))
	case overview.Attention:
		c.fill(dark, triangle(markX, markY, 19))
		c.fill(warning, triangle(markX, markY, 14))
		c.fill(dark, bar(markX, markY-6, markY+1.5, 2))
		c.fill(dark, disc(markX, markY+6, 2))
	}
	return c.image
}

// Template draws the icon as macOS wants it in its menu bar: black, with what is not there left
// out.
func Template(size int, mood overview.Mood) image.Image {
	c := newCanvas(size)
	black := color.NRGBA{A: 0xff}
	c.fill(black, lemniscate)
	switch mood {
	case overview.Running:
		c.fill(black, disc(markX, markY, 11.5))
	case overview.Attention:
		c.fill(black, triangle(markX, markY, 16))
	}
	return c.image
}

// PNG is the image as a PNG file.
func PNG(picture image.Image) []byte {
	var out bytes.Buffer
	_ = png.Encode(&out, picture) // memory takes it all
	return out.Bytes()
}

// ICO is the image as a Windows icon file with 32 bits a pixel. Its sides may have 256 pixels at
// most.
func ICO(picture image.Image) []byte {
	w, h := picture.Bounds().Dx(), picture.Bounds().Dy()
	mask := (w + 31) / 32 * 4 * h // a bit for each pixel, all clear: the alpha channel says it all
	const header, entry, info = 6, 16, 40
	var out bytes.Buffer
	write := func(values ...any) {
		for _, value := range values {
			_ = binary.Write(&out, binary.LittleEndian, value) // memory takes it all
		}
	}
	write(uint16(0), uint16(1), uint16(1))
	write(uint8(w), uint8(h), uint8(0), uint8(0), uint16(1), uint16(32), uint32(info+4*w*h+mask), uint32(header+entry))
	write(uint32(info), int32(w), int32(2*h), uint16(1), uint16(32), uint32(0), uint32(4*w*h+mask), [4]uint32{})
	for y := h - 1; y >= 0; y-- {
		for x := range w {
			p := color.NRGBAModel.Convert(picture.At(x, y)).(color.NRGBA)
			write([4]uint8{p.B, p.G, p.R, p.A})
		}
	}
	write(make([]byte, mask))
	return out.Bytes()
}

// A shape is how far a point is from it; negative inside. Icons are drawn on a field of 64 by 64.
type shape func(x, y float64) float64

const (
	field        = 64.0
	markX, markY = 47, 46
)

type canvas struct {
	image *image.NRGBA
	scale float64 // of the field, to a pixel
}

func newCanvas(size int) *canvas {
	return &canvas{image: image.NewNRGBA(image.Rect(0, 0, size, size)), scale: field / float64(size)}
}

// fill paints a shape over what is there, its edge one pixel soft.
func (c *canvas) fill(paint color.NRGBA, s shape) {
	size := c.image.Bounds().Dx()
	for y := range size {
		for x := range size {
			distance := s((float64(x)+0.5)*c.scale, (float64(y)+0.5)*c.scale) / c.scale
			cover := min(max(0.5-distance, 0), 1)
			if cover == 0 {
				continue
			}
			under := c.image.NRGBAAt(x, y)
			alpha := cover + float64(under.A)/255*(1-cover)
			mix := func(over, below uint8) uint8 {
				return uint8(math.Round((float64(over)*cover + float64(below)*float64(under.A)/255*(1-cover)) / alpha))
			}
			c.image.SetNRGBA(x, y, color.NRGBA{mix(paint.R, under.R), mix(paint.G, under.G), mix(paint.B, under.B), uint8(math.Round(alpha * 255))})
		}
	}
}

func roundedSquare(x, y float64) float64 {
	const radius = 15
	dx, dy := max(math.Abs(x-field/2)-field/2+radius, 0), max(math.Abs(y-field/2)-field/2+radius, 0)
	return math.Hypot(dx, dy) - radius
}

func disc(cx, cy, radius float64) shape {
	return func(x, y float64) float64 { return math.Hypot(x-cx, y-cy) - radius }
}

func bar(x, top, bottom, half float64) shape {
	return func(px, py float64) float64 {
		return math.Hypot(px-x, py-min(max(py, top), bottom)) - half
	}
}

// triangle stands on its base; radius is that of the circle around it, its corners a little round.
func triangle(cx, cy, radius float64) shape {
	return func(x, y float64) float64 {
		const round = 2.5
		inner := radius/2 - round
		far := -math.MaxFloat64
		for _, angle := range []float64{math.Pi / 2, -math.Pi / 6, -5 * math.Pi / 6} {
			far = max(far, (x-cx)*math.Cos(angle)+(y-cy)*math.Sin(angle))
		}
		return far - inner - round
	}
}

// lemniscate is the line of the sign for the endless, as frontend/public/icon.svg has it.
func lemniscate(x, y float64) float64 {
	const half = 2.75
	near := math.MaxFloat64
	for _, p := range endless {
		near = min(near, math.Hypot(x-p[0], y-p[1]))
	}
	return near - half
}

// endless are points of that line, close to each other.
var endless = func() (points [][2]float64) {
	curve := func(a, b, c, d [2]float64) {
		const steps = 80
		for i := range steps {
			t := float64(i) / steps
			u := 1 - t
			var p [2]float64
			for k := range p {
				p[k] = u*u*u*a[k] + 3*u*u*t*b[k] + 3*u*t*t*c[k] + t*t*t*d[k]
			}
			points = append(points, p)
		}
	}
	arc := func(cx, cy, radius, from, to float64) {
		const steps = 120
		for i := range steps {
			angle := from + (to-from)*float64(i)/steps
			points = append(points, [2]float64{cx + radius*math.Cos(angle), cy + radius*math.Sin(angle)})
		}
	}
	curve([2]float64{32, 32}, [2]float64{27.5, 25.5}, [2]float64{23.5, 22.5}, [2]float64{19, 22.5})
	arc(19, 32, 9.5, -math.Pi/2, -3*math.Pi/2)
	curve([2]float64{19, 41.5}, [2]float64{23.5, 41.5}, [2]float64{27.5, 38.5}, [2]float64{32, 32})
	curve([2]float64{32, 32}, [2]float64{36.5, 25.5}, [2]float64{40.5, 22.5}, [2]float64{45, 22.5})
	arc(45, 32, 9.5, -math.Pi/2, math.Pi/2)
	curve([2]float64{45, 41.5}, [2]float64{40.5, 41.5}, [2]float64{36.5, 38.5}, [2]float64{32, 32})
	return points
}()
