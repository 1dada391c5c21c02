package main

import (
	"bufio"
	"fmt"
	"go/build/constraint"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// tests are those of some packages that one build tag decides on.
type tests struct {
	packages []string // "./backend/daemon"
	names    []string // "TestRestart"
}

var testFunction = regexp.MustCompile(`^func ((?:Test|Example)\w*)\(`)

// run is the flag by which `go test` runs these and no others.
func (t tests) run() []string { return []string{"-run=^(" + strings.Join(t.names, "|") + ")$"} }

// in keeps the packages in or below one of the folders; not keeps the others.
func (t tests) in(folders ...string) tests {
	t.packages = slices.DeleteFunc(slices.Clone(t.packages), func(p string) bool { return !below(p, folders) })
	return t
}

func (t tests) not(folders ...string) tests {
	t.packages = slices.DeleteFunc(slices.Clone(t.packages), func(p string) bool { return below(p, folders) })
	return t
}

func below(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		return path == f || strings.HasPrefix(path, f+"/")
	})
}

// tagged finds the tests in files that are only compiled with a build tag ("real"), or only
// without one ("!race"). So a file's first line alone says where its tests belong.
func tagged(root, tag string) (tests, error) {
	var found tests
	for _, top := range []string{"app", "backend"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			needs, names, err := read(path, tag)
			if err != nil || !needs || len(names) == 0 {
				return err
			}
			dir, err := filepath.Rel(root, filepath.Dir(path))
			found.packages = append(found.packages, "./"+filepath.ToSlash(dir))
			found.names = append(found.names, names...)
			return err
		})
		if err != nil {
			return tests{}, err
		}
	}
	if len(found.names) == 0 {
		return tests{}, fmt.Errorf("no test has the build tag %q", tag)
	}
	slices.Sort(found.packages)
	slices.Sort(found.names)
	found.packages = slices.Compact(found.packages)
	found.names = slices.Compact(found.names)
	return found, nil
}

// inGVisor finds the packages of gVisor that have tests of ours.
func inGVisor(root string) (packages []string, err error) {
	top := filepath.Join(root, "build", "runsc", "gvisor")
	err = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		dir, err := filepath.Rel(top, filepath.Dir(path))
		packages = append(packages, "gvisor.dev/gvisor/"+filepath.ToSlash(dir))
		return err
	})
	return slices.Compact(packages), err
}

func join(packages []string) string { return strings.Join(packages, " ") }

// read tells whether a file's build constraint depends on the tag, and which tests it has.
func read(path, tag string) (needs bool, names []string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return false, nil, err
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		line := scanner.Text()
		if constraint.IsGoBuild(line) {
			expr, err := constraint.Parse(line)
			if err != nil {
				return false, nil, fmt.Errorf("%s: %w", path, err)
			}
			needs = depends(expr, tag)
		}
		if match := testFunction.FindStringSubmatch(line); match != nil && match[1] != "TestMain" {
			names = append(names, match[1])
		}
	}
	return needs, names, scanner.Err()
}

// depends tells whether a file is compiled with the tag and not without it; for "!tag", the
// reverse.
func depends(expr constraint.Expr, tag string) bool {
	name, negated := strings.CutPrefix(tag, "!")
	with := func(set bool) bool {
		return expr.Eval(func(t string) bool {
			switch t {
			case name:
				return set
			case "race":
				return false
			default: // another tier's tag does not keep a test out of this one
				return t == "real" || t == "system" || t == "unix" || t == runtime.GOOS
			}
		})
	}
	if negated {
		return with(false) && !with(true)
	}
	return with(true) && !with(false)
}
