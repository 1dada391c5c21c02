// Package foreign checks the history of a machine that came from elsewhere. Anyone who wrote it may
// mean ill.
package foreign

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/forevervm/desktop/backend/machine"
)

const (
	maxTold      = 16 << 20 // bytes of one item, or of an instruction without its output: twice what a sandbox may say at once
	maxDropped   = 1 << 40  // bytes
	maxForms     = 64
	maxFormName  = 256
	maxDisplayID = 4 << 10
)

// Strange is what a file gets that no ForeverVM has written.
func Strange(what string) error {
	return machine.Invalid("This file does not hold what it should: %s. Nothing was opened. If it came from somebody, ask them for it again.", what)
}

// Past is a time that is not in the future, nor so long ago that it is none.
func Past(t, now time.Time) time.Time {
	epoch := time.Unix(0, 0)
	switch {
	case t.After(now):
		return now
	case t.Before(epoch):
		return epoch.UTC()
	}
	return t.UTC()
}

// Instruction checks one that has the number next, of so many, and returns how many bytes it takes
// without its output.
func Instruction(in *machine.Instruction, next, of int) (size int, err error) {
	size = len(in.Code) + len(in.Error) + len(in.ErrorANSI)
	texts := []string{in.Code, in.Error, in.ErrorANSI, in.ErrorName, in.Client.Name, in.Client.Version}
	if in.Value != nil {
		texts = append(texts, *in.Value)
		size += len(*in.Value)
	}
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return 0, Strange("its history has text that is none")
		}
	}
	switch {
	case in.Seq != next || in.Seq >= of:
		return 0, Strange("its history is out of order")
	case !in.Status.Done():
		return 0, Strange("something in its history is not over")
	case len(in.Code) > machine.MaxCode || size > maxTold || len(in.ErrorName) > machine.MaxErrorName+len("…"):
		return 0, Strange("its history has text that is too long")
	case in.Timeout < 0 || in.Runtime < 0 || in.Items < 0 || in.Items > math.MaxInt32 || in.OutputDropped < 0 || in.OutputDropped > maxDropped:
		return 0, Strange("its history has numbers that cannot be right")
	case in.RolledBack && in.StartedAt == nil:
		return 0, Strange("its history has lost what never ran")
	case slices.ContainsFunc(in.Formats, func(f string) bool { return f != "png" && f != "svg" }) || len(in.Formats) > 2:
		return 0, Strange("its history has unknown figures")
	}
	shown, err := checkForms(in.Data)
	return size + shown, err
}

// checkForms returns how many bytes they take.
func checkForms(forms []machine.Representation) (size int, err error) {
	for _, f := range forms {
		size += len(f.Data)
		if f.MIME == "" || len(f.MIME) > maxFormName || !utf8.ValidString(f.MIME) || strings.ContainsFunc(f.MIME, unicode.IsControl) {
			return 0, Strange("its history shows things of no known kind")
		}
	}
	if len(forms) > maxForms || size > maxTold {
		return 0, Strange("its history shows too much at once")
	}
	return size, nil
}

// Item checks a piece of output, and returns how many bytes it takes.
func Item(it *machine.Item) (size int, err error) {
	known := false
	switch it.Kind {
	case machine.ItemOutput:
		known = (it.Stream == "stdout" || it.Stream == "stderr") && len(it.Representations) == 0
	case machine.ItemDisplay, machine.ItemClear:
		known = it.Stream == "" && len(it.Text) == 0
	}
	switch {
	case !known:
		return 0, Strange("its history has output of no known kind")
	case len(it.Text) > maxTold || len(it.DisplayID) > maxDisplayID || !utf8.ValidString(it.DisplayID):
		return 0, Strange("its history has output that is too long")
	}
	size, err = checkForms(it.Representations)
	return size + len(it.Text), err
}
