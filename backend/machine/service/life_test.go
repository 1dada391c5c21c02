package service_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// LIFE.md names the tests that hold its cells, some by how they begin.
func TestLifeNamesTestsThatExist(t *testing.T) {
	page, err := os.ReadFile("../LIFE.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Glob("../life/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, file := range slices.Concat(files, rules, []string{"../transitions_test.go"}) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(content)
	}
	named := regexp.MustCompile("`(Test[A-Za-z]+)(…?)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 40 {
		t.Fatalf("LIFE.md names %d tests", len(named))
	}
	for _, name := range named {
		end := "(t "
		if name[2] != "" {
			end = ""
		}
		if !strings.Contains(tests.String(), "func "+name[1]+end) {
			t.Errorf("LIFE.md names %s%s, which there is not", name[1], name[2])
		}
	}
}
