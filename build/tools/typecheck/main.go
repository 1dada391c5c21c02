// Command typecheck finds out whether packages compile for the system that GOOS names, without
// compiling anything: what they import is read as far as its declarations. `go vet` and `go build`
// would make machine code of all of it, which takes minutes for a system on which nothing is run.
//
//	GOOS=darwin CGO_ENABLED=0 typecheck ./backend/...
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	here, err := os.Getwd()
	if err == nil {
		err = check(here, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(1)
	}
}

// check type-checks packages and their tests, and prints what is wrong with those under a folder.
func check(folder string, patterns []string) error {
	ours := func(file string) bool { return strings.HasPrefix(file, folder+string(os.PathSeparator)) }
	loaded, err := packages.Load(&packages.Config{
		Mode:  packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
		Tests: true,
		ParseFile: func(set *token.FileSet, name string, source []byte) (*ast.File, error) {
			file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
			if err == nil && !ours(name) {
				for _, declared := range file.Decls {
					if function, ok := declared.(*ast.FuncDecl); ok {
						function.Body = nil
					}
				}
			}
			return file, err
		},
	}, patterns...)
	if err != nil {
		return err
	}
	if len(loaded) == 0 {
		return fmt.Errorf("there are no packages in %s", strings.Join(patterns, " "))
	}
	said := map[string]bool{} // a package's file is in its tests' package, too
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, wrong := range p.Errors {
			file, _, _ := strings.Cut(wrong.Pos, ":")
			if text := wrong.Error(); (ours(file) || !filepath.IsAbs(file)) && !said[text] {
				said[text] = true
				fmt.Fprintln(os.Stderr, text)
			}
		}
	})
	if len(said) > 0 {
		return fmt.Errorf("%d errors for %s", len(said), os.Getenv("GOOS"))
	}
	return nil
}
