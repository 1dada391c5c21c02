//go:build !race

package local

// niceness is how far what nobody waits for stands back: machines and their next instructions go
// first. It gets a quarter of a processor that others want whole, as in the end somebody does wait:
// for a state to be durable, or for a machine to be gone.
const niceness = 5
