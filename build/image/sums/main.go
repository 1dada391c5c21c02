// Command sums writes the checksums that runsc wants beside what build/image/run.py --save has
// saved: go run ./build/image/sums FOLDER
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/forevervm/desktop/backend/checkpoint"
)

func main() {
	if err := checkpoint.WriteSums(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sums:", err)
		os.Exit(1)
	}
}
