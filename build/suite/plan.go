package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// stage is a number of steps that run side by side. Few do: on two cores, more of them make tests
// wait for each other. Where one fails, later stages still run: one run tells of everything. A step
// that is behind goes on beside later stages.
type stage []step

// plan makes the suites. Tests say by build tags where they belong:
//
//	none    no root, sandbox or browser                      check, test
//	real    built programs, gVisor, a keyring                test
//	system  Docker, a window, the system's bus, or Wine      test-all
//	        Kubernetes, in ./backend/engine/kubernetes       test-kubernetes; test-all where it is built
//	soak    the Rust SDK (minutes to compile)                soak
//	!race   one goroutine; minutes with the race detector    check, test, without the detector
type plan struct {
	real, system, alone tests
	root                string
	gvisor              []string // packages of gVisor that have tests of ours
	kubernetes          string   // why no test can have a Kubernetes; empty where they can
	// fresh runs all unit tests, shuffled. Otherwise Go's cache answers for unchanged packages.
	fresh bool
}

func newPlan(root string) (plan, error) {
	p := plan{root: root, fresh: os.Getenv("CI") == "true"}
	for tag, into := range map[string]*tests{"real": &p.real, "system": &p.system, "!race": &p.alone} {
		found, err := tagged(root, tag)
		if err != nil {
			return plan{}, err
		}
		*into = found
	}
	var err error
	if p.gvisor, err = inGVisor(root); err != nil {
		return plan{}, err
	}
	p.kubernetes, err = lacksKubernetes(root)
	return p, err
}

// lacksKubernetes says how to get one where none is built. From nothing that takes too long for CI.
func lacksKubernetes(root string) (string, error) {
	where, err := exec.Command(filepath.Join(root, "build", "kubernetes", "build.sh"), "where").Output()
	if err != nil {
		return "", fmt.Errorf("build/kubernetes/build.sh: %w", err)
	}
	if _, err := os.Stat(strings.TrimSpace(string(where))); errors.Is(err, fs.ErrNotExist) {
		return "Kubernetes is not built here: `make test-kubernetes` builds it, in 7 minutes, and runs its tests", nil
	} else if err != nil {
		return "", err
	}
	return "", nil
}

// suites are what can be asked for.
var suites = map[string]func(plan) []stage{
	"check":    plan.check,
	"test":     plan.test,
	"test-all": func(p plan) []stage { return p.testAll(nil) },
	"ci":       func(p plan) []stage { return p.testAll(tooLong) },
	"soak":     plan.soak,

	"test-kubernetes": func(p plan) []stage { return []stage{{p.inKubernetes()}} },
}

// raced are the folders whose real tests keep the race detector on. Those that run sandboxes by the
// hundred take too long with it; these run the same code.
var raced = []string{"./backend/daemon", "./backend/sandbox"}

// race keeps the detector off two libraries that are not ours: compression, which takes twice as
// long with it, and SQLite, which is translated from C. Without it on SQLite, the tests of
// backend/machine/service take half as long. Only packages that share nothing
// between goroutines may be left out: code of package sync that is compiled into one tells the
// detector nothing, wherever it is called from.
var race = []string{
	"-race", "-gcflags=github.com/klauspost/compress/...=-race=false", "-gcflags=modernc.org/sqlite/lib=-race=false -d=checkptr=0",
}

// once keeps nothing of earlier runs, and lets no test rely on another.
var once = []string{"-shuffle=on", "-count=1"}

// check is what runs before each commit.
func (p plan) check() []stage {
	var fresh []string
	if p.fresh {
		fresh = once
	}
	return append([]stage{{lint("lint", "lint")}}, p.units(fresh)...)
}

// lint says what can be said of the code without running it.
func lint(name string, targets ...string) step {
	return step{name: name, args: append([]string{"make", "--no-print-directory", "-j2", "--output-sync=target"}, targets...)}
}

func (p plan) units(fresh []string) []stage {
	return []stage{
		{
			goTests("unit", []string{"./app/...", "./backend/...", "./build/dev", "./build/suite"}, race, fresh),
			page("page unit", "test"),
		},
		{
			goTests("alone", p.alone.packages, p.alone.run(), fresh),
			patched(p.root, p.gvisor, fresh),
			inModule(p.root, "vfkit", filepath.Join("build", "macos", "vfkit"), []string{"./..."}, fresh),
		},
	}
}

// test is unit tests, real sandboxes, the page in a browser, the published Python SDK, and whether
// all compiles on each system. The other linters are for check: from nothing, golangci-lint alone
// takes six minutes.
func (p plan) test() []stage {
	tags := append([]string{"-tags=real"}, p.real.run()...)
	stages := append([]stage{{lint("types", "lint-systems", "lint-page")}}, p.units(once)...)
	return append(stages,
		stage{
			{name: "image", args: []string{"build/image/check.py"}},
			{name: "runner", args: []string{"backend/runner/test.sh"}, report: pytestReport},
		},
		stage{page("page", "test:e2e")},
		stage{
			goTests("real", slowestFirst(p.real.not(raced...).packages), tags, once),
		},
		stage{goTests("real raced", p.real.in(raced...).packages, tags, race, once)},
	)
}

// tooLong are the tests of test-all that CI has no time for: groups of the conformance suite that
// test mostly what Docker has in common with the native engine, where CI runs them, and Windows
// builds under Wine.
var tooLong = []string{
	"-skip=^TestConformance$/^(Checkpoint|Death|Files|Hostile|Limits|Many|Network|Rot|Running)$" +
		"|^TestConformanceOverSSH$/^(Hostile|Limits|Many|Network|Rot|Running)$|^TestWindowsBuildConnectsApps$|^TestWindowsBuildRunsMachinesInWSL$|^TestTheStoryOnWindows$",
}

// testAll adds Docker, the window and the tray, keyrings, Wine, and Kubernetes where it is built.
// Docker's tests take longest, so they run beside the others from the beginning.
func (p plan) testAll(skipped []string) []stage {
	tags := append([]string{"-tags=real,system"}, p.system.run()...)
	docker := goTests("docker", p.system.in("./backend/engine/docker").packages, tags, once, skipped, asRoot())
	docker.behind = true
	return slices.Concat([]stage{{docker}}, p.test(), []stage{{
		goTests("system", p.system.not("./backend/engine/docker", kubernetes).packages, tags, race, once, skipped),
		page("window", "test:system"),
	}, {p.inKubernetes(p.system.run(), skipped)}})
}

// kubernetes is the folder whose tests start a Kubernetes.
const kubernetes = "./backend/engine/kubernetes"

// inKubernetes are the tests that start a Kubernetes of their own.
func (p plan) inKubernetes(flags ...[]string) step {
	// The engines' suite alone takes half an hour on two processors.
	flags = append(flags, []string{"-tags=real,system", "-timeout=2h"}, race, once, asRoot())
	s := goTests("kubernetes", []string{kubernetes + "/..."}, flags...)
	s.lacks = p.kubernetes
	return s
}

// soak are the long runs: the Rust SDK, the virtual machine, git in a machine, rounds of kill -9,
// stories of a machine, crashes of the store, a bad network, an app that makes 1,000 machines, and
// fuzzing of what reads untrusted bytes.
func (p plan) soak() []stage {
	// What go test does not know must follow -args: else it takes the package for an argument, too.
	long := func(name, pkg, test string, args ...string) step {
		return goTests(name, []string{pkg}, []string{"-tags=real,system,soak", "-count=1", "-timeout=60m", "-run=" + test}, args)
	}
	with := func(s step, env ...string) stage {
		s.env = append(s.env, env...)
		return stage{s}
	}
	return []stage{
		with(long("rust", "./backend/e2e", "^TestRustSDK$")),
		with(long("mac", "./backend/e2e", "^TestMachinesInAVirtualMachine$")),
		with(long("virtual", "./backend/engine/remote/vm", "^Test(AVirtualMachine(OnARM)?|NothingGetsOut|AFullComputer|AnUpdateOfAVirtualMachine)$")),
		with(long("network", "./backend/engine/native", "^TestConformance$/^Network$"), "FOREVERVM_LONG=true"),
		with(long("kill", "./backend/e2e", "^TestKillNine"), "FOREVERVM_ROUNDS=100"),
		with(long("stories", "./backend/machine/service", "^TestWhateverHappens", "-args", "-rapid.checks=1000")),
		with(long("crashes", "./backend/checkpoint/blocks", "^TestNothingIsLost$", "-args", "-rapid.checks=2000")),
		with(long("hosted", "./backend/hosted", "^TestHostedMachines$"), "FOREVERVM_INSTRUCTIONS=1000"),
		with(long("hostile", "./backend/mcpserver", "^TestAThousandMachines$")),
		{p.inCluster(long("cluster", kubernetes, "^Test(Speed|Load)$"))},
		{{name: "fuzz", args: []string{"build/fuzz.sh", "2m"}}},
	}
}

// inCluster is a step that lacks a Kubernetes where none is built.
func (p plan) inCluster(s step) step {
	s.lacks = p.kubernetes
	return s
}

// page runs one of the page's scripts.
func page(name, script string) step {
	return step{name: name, dir: "frontend", args: []string{"npm", "run", "--silent", script}, report: pageReport}
}

// goTests runs Go tests. A few that fail are tried once more, only to tell flaky from broken.
func goTests(name string, packages []string, flags ...[]string) step {
	args := []string{
		filepath.Join("build", "cache", "tools", "gotestsum"), "--format=pkgname", "--format-hide-empty-pkg",
		"--hide-summary=skipped", "--rerun-fails=1", "--rerun-fails-run-root-test", "--rerun-fails-max-failures=6", "--rerun-fails-abort-on-data-race",
		// Twenty minutes are too few on a busy computer. golangci-lint has vetted the code.
		"--packages", join(packages), "--", "-timeout=60m", "-vet=off",
	}
	s := step{name: name, args: append(args, slices.Concat(flags...)...), report: goReport}
	if !slices.Contains(s.args, "-race") {
		s.env = []string{"CGO_ENABLED=0"} // as the programs are built: fewer packages are compiled twice
	}
	return s
}

// patched runs our tests in gVisor's packages, in the gVisor that build/runsc/apply.sh has made.
func patched(root string, packages []string, flags ...[]string) step {
	s := inModule(root, "gvisor", filepath.Join("build", "runsc"), packages, flags...)
	s.env = append(s.env, "GOWORK="+filepath.Join(root, "build", "cache", "runsc", "go.work"))
	return s
}

// inModule runs the tests of a Go module of its own, in that folder.
func inModule(root, name, dir string, packages []string, flags ...[]string) step {
	s := goTests(name, packages, flags...)
	s.dir, s.args[0] = dir, filepath.Join(root, s.args[0])
	return s
}

// asRoot runs tests as root, who alone can start a Docker; the caller compiles them.
func asRoot() []string {
	if os.Getuid() == 0 || os.Getenv("FOREVERVM_TEST_DOCKER") != "" {
		return nil
	}
	return []string{"-exec", "sudo -n --preserve-env env PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin"}
}

// longest are the packages whose real tests take minutes, the slowest first.
var longest = []string{"./backend/engine/native", "./backend/mcpserver", "./backend/e2e", "./backend/machine/service"}

// slowestFirst has them begin at once: the others then run beside them, and none is left for the
// end.
func slowestFirst(packages []string) []string {
	packages = slices.Clone(packages)
	slices.SortStableFunc(packages, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	return packages
}

// place is where a package is among the longest; behind them for others.
func place(pkg string) int {
	if at := slices.Index(longest, pkg); at >= 0 {
		return at
	}
	return len(longest)
}
