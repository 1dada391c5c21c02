//go:build linux

package sandbox

import "fmt"

// Main is the supervisor program. args are those after the program's name: a stage (`run` or
// `probe`; the others are its own), then flags.
func Main(args []string) int {
	if len(args) == 0 {
		return failed(fmt.Errorf("usage: supervisor run -runsc=… -image=… -machine=…"))
	}
	switch args[0] {
	case "probe":
		return Probe()
	case innerStageProbe:
		return probeInner()
	}
	cfg, err := Parse(args[1:])
	if err != nil {
		return failed(err)
	}
	switch args[0] {
	case "run":
		return Run(cfg)
	case innerStage, innerStageSharedPIDs:
		return Inner(args[0], cfg)
	default:
		return failed(fmt.Errorf("the stage %q means nothing", args[0]))
	}
}
