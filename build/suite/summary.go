package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// summary is what a run ends with.
type summary struct {
	name    string
	results []result
	took    time.Duration
}

// slowest is how many of the slowest tests are named.
const slowest = 10

func (s summary) ok() bool {
	return !slices.ContainsFunc(s.results, func(r result) bool {
		return r.err != nil || count(r.outcomes, failed) > 0
	})
}

func (s summary) text() string {
	var b strings.Builder
	var all []outcome
	fmt.Fprintf(&b, "\nmake %s: %s\n\n", s.name, seconds(s.took))
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "step\ttime\tpassed\tfailed\tflaky\tskipped\t")
	for _, r := range s.results {
		o := r.outcomes
		note := ""
		if r.err != nil {
			note = verdict(r)
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%s\n", r.step, seconds(r.took),
			count(o, passed), count(o, failed), count(o, flaky), count(o, skipped), note)
		all = append(all, o...)
	}
	_ = table.Flush() // into memory

	list(&b, "Slowest tests:", top(all), func(o outcome) string {
		return fmt.Sprintf("%6.1f s  %s %s", o.Seconds, o.File, o.Name)
	})
	of := func(want state) []outcome {
		return slices.DeleteFunc(slices.Clone(all), func(o outcome) bool { return o.State != want })
	}
	list(&b, "Skipped:", of(skipped), where)
	list(&b, "Flaky. Each passed only on a second try, which is a bug to fix before new work:", of(flaky), where)
	list(&b, "Failed:", of(failed), where)
	for _, r := range s.results { // a step without tests counts as one
		if r.err == nil && len(r.outcomes) == 0 {
			all = append(all, outcome{State: passed})
		} else if r.err != nil && count(r.outcomes, failed) == 0 {
			all = append(all, outcome{State: failed})
		}
	}
	fmt.Fprintf(&b, "\n%d passed, %d failed, %d skipped\n",
		count(all, passed), count(all, failed), count(all, skipped))
	return b.String()
}

// where is a test, and the first line of its reason.
func where(o outcome) string {
	name := o.File + " " + o.Name
	if reason, _, _ := strings.Cut(o.Reason, "\n"); reason != "" {
		return name + ": " + reason
	}
	return name
}

func list(b *strings.Builder, title string, outcomes []outcome, line func(outcome) string) {
	if len(outcomes) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, o := range outcomes {
		fmt.Fprintf(b, "  %s\n", line(o))
	}
}

func count(outcomes []outcome, want state) (n int) {
	for _, o := range outcomes {
		if o.State == want {
			n++
		}
	}
	return n
}

// top are the slowest tests.
func top(outcomes []outcome) []outcome {
	sorted := slices.SortedFunc(slices.Values(outcomes), func(a, b outcome) int {
		return cmp.Compare(b.Seconds, a.Seconds)
	})
	return sorted[:min(slowest, len(sorted))]
}
