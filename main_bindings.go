//go:build bindings

// Wails compiles and runs the program with this tag to write its bindings in JavaScript. The page
// has its own (frontend/src/lib/api/connection.ts), so there is nothing to write.
package main

func main() {}
