package main

import (
	"context"
	"go/build/constraint"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDepends(t *testing.T) {
	for line, want := range map[string]map[string]bool{
		"//go:build linux":                  {"real": false, "system": false, "!race": false},
		"//go:build linux && real":          {"real": true, "system": false},
		"//go:build !windows && system":     {"real": false, "system": true},
		"//go:build linux && !race":         {"real": false, "!race": true},
		"//go:build windows && real":        {"real": false},
		"//go:build linux && soak":          {"real": false, "system": false},
		"//go:build linux && real && !race": {"real": true, "!race": true},
	} {
		expr, err := constraint.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		for tag, needs := range want {
			if got := depends(expr, tag); got != needs {
				t.Errorf("%s: depends on %s: %v", line, tag, got)
			}
		}
	}
}

func TestTagged(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "app/a_test.go"), "package app\n\nfunc TestUnit(t *testing.T) {}\n")
	write(t, filepath.Join(root, "backend/b/b_test.go"), "//go:build real\n\npackage b\n\nfunc TestMain(m *testing.M) {}\nfunc TestOne(t *testing.T) {}\nfunc ExampleTwo() {}\nfunc helper() {}\n")
	write(t, filepath.Join(root, "backend/b/c_test.go"), "//go:build real\n\npackage b\n\nfunc TestThree(t *testing.T) {}\n")
	write(t, filepath.Join(root, "backend/d/d_test.go"), "//go:build real\n\npackage d\n\nfunc TestFour(t *testing.T) {}\n")
	got, err := tagged(root, "real")
	want := tests{packages: []string{"./backend/b", "./backend/d"}, names: []string{"ExampleTwo", "TestFour", "TestOne", "TestThree"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if in := got.in("./backend/d"); !reflect.DeepEqual(in.packages, []string{"./backend/d"}) {
		t.Errorf("in: %v", in.packages)
	}
	if out := got.not("./backend/d"); !reflect.DeepEqual(out.packages, []string{"./backend/b"}) {
		t.Errorf("not: %v", out.packages)
	}
	if _, err := tagged(root, "system"); err == nil {
		t.Error("a tag that no test has is no error")
	}
}

func TestInGVisor(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"pkg/mm/forevervm_a.go", "pkg/state/io/forevervm_a_test.go", "pkg/state/io/forevervm_b_test.go"} {
		write(t, filepath.Join(root, "build/runsc/gvisor", name), "package io\n")
	}
	got, err := inGVisor(root)
	if want := []string{"gvisor.dev/gvisor/pkg/state/io"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

// A test that was tried again ends twice in the same events.
func TestReadGo(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "events"), `
{"Action":"run","Package":"github.com/forevervm/desktop/backend/a","Test":"TestFlaky"}
{"Action":"output","Package":"github.com/forevervm/desktop/backend/a","Test":"TestFlaky","Output":"    a_test.go:5: slow\n"}
{"Action":"output","Package":"github.com/forevervm/desktop/backend/a","Test":"TestFlaky","Output":"    level=INFO msg=ended\n"}
{"Action":"fail","Package":"github.com/forevervm/desktop/backend/a","Test":"TestFlaky","Elapsed":3}
{"Action":"fail","Package":"github.com/forevervm/desktop/backend/a","Elapsed":3}
{"Action":"output","Package":"github.com/forevervm/desktop/backend/a","Test":"TestSkipped","Output":"    a_test.go:3: not here\n"}
{"Action":"output","Package":"github.com/forevervm/desktop/backend/a","Test":"TestSkipped","Output":"--- SKIP: TestSkipped (0.00s)\n"}
{"Action":"skip","Package":"github.com/forevervm/desktop/backend/a","Test":"TestSkipped"}
{"Action":"pass","Package":"github.com/forevervm/desktop/backend/a","Test":"TestParts/one"}
{"Action":"output","Package":"github.com/forevervm/desktop/backend/a","Test":"TestParts/two","Output":"    a_test.go:9: nor this\n"}
{"Action":"skip","Package":"github.com/forevervm/desktop/backend/a","Test":"TestParts/two"}
{"Action":"pass","Package":"github.com/forevervm/desktop/backend/a","Test":"TestParts","Elapsed":0.5}
{"Action":"output","Package":"github.com/forevervm/desktop/backend/a","Test":"TestBroken/one/two","Output":"    a_test.go:7: lost\n"}
{"Action":"fail","Package":"github.com/forevervm/desktop/backend/a","Test":"TestBroken/one/two"}
{"Action":"fail","Package":"github.com/forevervm/desktop/backend/a","Test":"TestBroken/one"}
{"Action":"fail","Package":"github.com/forevervm/desktop/backend/a","Test":"TestBroken"}
{"Action":"pass","Package":"github.com/forevervm/desktop/backend/a","Test":"TestFlaky","Elapsed":1}
{"Action":"fail","Package":"github.com/forevervm/desktop/backend/a","Test":"TestBroken"}
{"Action":"fail","Package":"github.com/forevervm/desktop/backend/c","Elapsed":1}
`)
	got, err := readGo(path)
	want := []outcome{
		{Name: "TestFlaky", File: "backend/a", Seconds: 3, State: flaky, Reason: "a_test.go:5: slow"},
		{Name: "TestSkipped", File: "backend/a", State: skipped, Reason: "a_test.go:3: not here"},
		{Name: "TestParts/two", File: "backend/a", State: skipped, Reason: "a_test.go:9: nor this"},
		{Name: "TestParts", File: "backend/a", Seconds: 0.5, State: passed},
		{Name: "TestBroken", File: "backend/a", State: failed, Reason: "one/two: a_test.go:7: lost"},
		{Name: "(package)", File: "backend/c", Seconds: 1, State: failed},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v, not\n%+v", err, got, want)
	}
}

func TestReadPytest(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "junit.xml"), `<?xml version="1.0"?><testsuites><testsuite>
<testcase classname="tests.a" name="one" time="0.25"/>
<testcase classname="tests.a" name="two" time="1"><failure message="x">y</failure></testcase>
<testcase classname="tests.a" name="three" time="0"><skipped message="not here"/></testcase>
</testsuite></testsuites>`)
	got, err := readPytest(path)
	want := []outcome{
		{Name: "one", File: "tests.a", Seconds: 0.25, State: passed},
		{Name: "two", File: "tests.a", Seconds: 1, State: failed},
		{Name: "three", File: "tests.a", State: skipped, Reason: "not here"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v", err, got)
	}
}

// A step's failure, its lines and its report come through; later stages run all the same.
func TestStages(t *testing.T) {
	var said strings.Builder
	r := &runner{root: t.TempDir(), reports: t.TempDir(), out: &lines{to: &said}}
	wrote := `printf '[{"name":"n","file":"f","seconds":1,"state":"flaky","reason":"late\\nand more"}]' >"$FOREVERVM_TEST_REPORT"`
	results := r.stages(t.Context(), []stage{
		{{name: "bad", args: []string{"sh", "-c", "printf 'no newline'; exit 3"}}},
		{
			{name: "good", args: []string{"sh", "-c", wrote}, report: pageReport},
			{name: "mute", args: []string{"true"}, report: pageReport},
		},
	})
	if len(results) != 3 || results[0].err == nil || results[1].err != nil || results[2].err == nil {
		t.Fatalf("%+v", results)
	}
	if want := []outcome{{Name: "n", File: "f", Seconds: 1, State: flaky, Reason: "late\nand more"}}; !reflect.DeepEqual(results[1].outcomes, want) {
		t.Errorf("%+v", results[1].outcomes)
	}
	if !strings.Contains(said.String(), "bad        | no newline\n") {
		t.Errorf("it says\n%s", &said)
	}
	s := summary{name: "test", results: results, took: 61 * time.Second}
	if s.ok() {
		t.Error("what failed is fine")
	}
	text := s.text()
	for _, want := range []string{"make test: 61 s\n", "  f n: late\n", "\n0 passed, 2 failed, 0 skipped\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// An interrupt reaches what a step has started, and no later stage begins.
// A step that is behind goes on while later stages run, and counts like the others.
func TestLaterStagesDoNotWaitForWhatIsBehind(t *testing.T) {
	folder := t.TempDir()
	r := &runner{root: folder, reports: t.TempDir(), out: &lines{to: io.Discard}}
	results := r.stages(t.Context(), []stage{
		{{name: "behind", behind: true, args: []string{"sh", "-c", "while ! [ -e later ]; do sleep 0.01; done; exit 1"}}},
		{{name: "later", args: []string{"touch", "later"}}},
	})
	if len(results) != 2 || results[0].step != "behind" || results[0].err == nil || results[1].err != nil {
		t.Errorf("%+v", results)
	}
}

func TestAnInterruptEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := filepath.Join(t.TempDir(), "ended")
	child := `trap 'echo >"` + ended + `"; exit 1' INT; echo ready; while :; do sleep 0.01; done`
	r := &runner{root: t.TempDir(), reports: t.TempDir(), out: &lines{to: writer(func(text string) {
		if strings.Contains(text, "| ready") {
			cancel()
		}
	})}}
	results := r.stages(ctx, []stage{
		{{name: "one", args: []string{"sh", "-c", "sh -c '" + strings.ReplaceAll(child, "'", `'\''`) + "'; true"}}},
		{{name: "two", args: []string{"true"}}},
	})
	if len(results) != 1 || results[0].err == nil {
		t.Errorf("%+v", results)
	}
	if _, err := os.Stat(ended); err != nil {
		t.Error("what the step started was not interrupted:", err)
	}
}

// A step that should run tests and runs none has failed: its selection is of no use.
func TestNoTestIsNoPass(t *testing.T) {
	r := &runner{root: t.TempDir(), reports: t.TempDir(), out: &lines{to: &strings.Builder{}}}
	none := step{name: "none", args: []string{"sh", "-c", `echo '[]' >"$FOREVERVM_TEST_REPORT"`}, report: pageReport}
	if results := r.stages(t.Context(), []stage{{none}}); results[0].err == nil {
		t.Error("it passes")
	}
}

// A step that lacks what it needs is no failure, and the summary says what to do.
func TestAStepThatCannotRun(t *testing.T) {
	r := &runner{root: t.TempDir(), reports: t.TempDir(), out: &lines{to: io.Discard}}
	lacking := step{name: "far", lacks: "`make near` brings it", args: []string{"false"}, report: pageReport}
	s := summary{name: "test", results: r.stages(t.Context(), []stage{{lacking}})}
	if !s.ok() {
		t.Errorf("%+v", s.results)
	}
	for _, want := range []string{"far (all): `make near` brings it\n", "\n0 passed, 0 failed, 1 skipped\n"} {
		if !strings.Contains(s.text(), want) {
			t.Errorf("%q is missing in\n%s", want, s.text())
		}
	}
}

// What a test binary alone understands stands behind -args. Otherwise go test tests the package of
// the folder that it runs in, which has no tests.
func TestFlagsOfTestsFollowArgs(t *testing.T) {
	for _, stage := range (plan{}).soak() {
		for _, s := range stage {
			args := slices.Index(s.args, "-args")
			for at, arg := range s.args {
				if strings.HasPrefix(arg, "-rapid.") && (args < 0 || at < args) {
					t.Errorf("%s: %s does not follow -args", s.name, arg)
				}
			}
		}
	}
}

// writer is told of each piece of text.
type writer func(text string)

func (w writer) Write(text []byte) (int, error) {
	w(string(text))
	return len(text), nil
}
