//go:build race

package local

// niceness is none where the race detector makes this work ten times as long: tests would wait
// minutes for it beside others.
const niceness = 0
