//go:build linux

package sandbox

import "fmt"

// Main is the supervisor program. args are those after the program's name: a stage (`run`, `probe`,
// or one of those in listen.go; the others are its own), then flags.
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
	if known, err := beside(args[0], args[1:]); known {
		if err != nil {
			return failed(err)
		}
		return exitOK
	}
	cfg, err := Parse(args[1:])
	if err != nil {
		return failed(err)
	}
	switch args[0] {
	case "run":
		if cfg.Listen != "" {
			return listened(cfg)
		}
		return Run(cfg)
	case innerStage, innerStageSharedPIDs:
		return Inner(args[0], cfg)
	default:
		return failed(fmt.Errorf("the stage %q means nothing", args[0]))
	}
}
