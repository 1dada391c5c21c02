// Command shipped writes what a package is made of: NOTICES.txt, with the terms of each part in
// full, and sbom.cdx.json, a CycloneDX list for machines. Go programs tell which modules are in
// them; a module's or library's terms are the files that its authors put there for that.
package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// part is something that others made and we ship.
type part struct {
	Kind    string // golang, npm, pypi, deb: as package URLs have it
	Name    string
	Version string
	License string // an SPDX expression where its authors wrote one, else ""
	Terms   string // the license and notices in full; "" where they are in the sandbox image itself
	URL     string // its package URL
}

func main() {
	log.SetFlags(0)
	project := flag.String("project", ".", "the checkout")
	image := flag.String("image", "", "the sandbox image's manifest; none where the package holds no image")
	version := flag.String("version", "", "the version that is packed")
	out := flag.String("out", ".", "the folder to write to")
	flag.Parse()
	if err := run(*project, *image, *version, *out, flag.Args()); err != nil {
		log.Fatal("shipped: ", err)
	}
}

func run(project, image, version, out string, programs []string) error {
	var parts []part
	for _, find := range []func() ([]part, error){
		func() ([]part, error) { return modules(project, programs) },
		func() ([]part, error) { return libraries(filepath.Join(project, "frontend")) },
		func() ([]part, error) { return imaged(image) },
	} {
		found, err := find()
		if err != nil {
			return err
		}
		parts = append(parts, found...)
	}
	if err := os.WriteFile(filepath.Join(out, "NOTICES.txt"), []byte(notices(parts)), 0o644); err != nil {
		return err
	}
	return writeSBOM(filepath.Join(out, "sbom.cdx.json"), version, parts)
}

// modules are those of Go that are in the programs, and Go itself.
func modules(project string, programs []string) ([]part, error) {
	found := map[string]part{}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", program, err)
		}
		goVersion := strings.TrimPrefix(info.GoVersion, "go")
		found["go"] = part{Kind: "golang", Name: "std", Version: goVersion, License: "BSD-3-Clause", URL: "pkg:golang/std@" + goVersion}
		for _, module := range info.Deps {
			path, release := module.Path, module.Version
			// What is replaced by a folder, as gVisor is, is a changed copy of that very version.
			if module.Replace != nil && strings.HasPrefix(module.Replace.Version, "v") {
				path, release = module.Replace.Path, module.Replace.Version
			}
			found[path+"@"+release] = part{Kind: "golang", Name: path, Version: release, URL: "pkg:golang/" + path + "@" + release}
		}
	}
	root, err := output(project, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	for key, one := range found {
		folder := root
		if one.Name != "std" {
			if folder, err = moduleFolder(project, one); err != nil {
				return nil, err
			}
		}
		if one.Terms, err = terms(folder); err != nil {
			return nil, fmt.Errorf("%s %s: %w", one.Name, one.Version, err)
		}
		found[key] = one
	}
	return sorted(found), nil
}

// moduleFolder is where the cache has a module. It is not asked for by the project's go.mod, since
// runsc has one of its own.
func moduleFolder(project string, module part) (string, error) {
	said, err := output(project, "go", "mod", "download", "-json", module.Name+"@"+module.Version)
	if err != nil {
		return "", err
	}
	var download struct{ Dir string }
	if err := json.Unmarshal([]byte(said), &download); err != nil {
		return "", err
	}
	return download.Dir, nil
}

// libraries are what npm installed for the page and Vite put into it: all but those for
// development.
func libraries(folder string) ([]part, error) {
	data, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version, License           string
			Dev, DevOptional, Optional bool
		}
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return nil, err
	}
	found := map[string]part{}
	for path, entry := range lock.Packages {
		if path == "" || entry.Dev || entry.DevOptional || entry.Optional {
			continue
		}
		at := strings.LastIndex(path, "node_modules/") + len("node_modules/")
		name := path[at:]
		one := part{Kind: "npm", Name: name, Version: entry.Version, License: entry.License, URL: "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + entry.Version}
		one.Terms, err = terms(filepath.Join(folder, path))
		if errors.Is(err, errNoTerms) && one.License != "" {
			one.Terms, err = "Its authors name the license "+one.License+" and give no text of it.\n", nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", name, entry.Version, err)
		}
		found[path] = one
	}
	return sorted(found), nil
}

// imaged are what the sandbox image is made of. Its terms lie in it.
func imaged(manifest string) ([]part, error) {
	if manifest == "" {
		return nil, nil
	}
	data, err := os.ReadFile(manifest)
	if err != nil {
		return nil, err
	}
	var image struct{ Packages, Debian map[string]string }
	if err := json.Unmarshal(data, &image); err != nil {
		return nil, err
	}
	found := map[string]part{}
	for name, version := range image.Packages {
		found["pypi"+name] = part{Kind: "pypi", Name: name, Version: version, URL: "pkg:pypi/" + strings.ToLower(name) + "@" + version}
	}
	for name, version := range image.Debian {
		found["deb"+name] = part{Kind: "deb", Name: name, Version: version, URL: "pkg:deb/debian/" + name + "@" + strings.ReplaceAll(version, "+", "%2B") + "?distro=trixie"}
	}
	return sorted(found), nil
}

func sorted(found map[string]part) []part {
	return slices.SortedFunc(maps.Values(found), func(a, b part) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version))
	})
}

var (
	errNoTerms = errors.New("no file says what its terms are")
	termsFile  = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|copyright|authors|patents)([-._].*)?$`)
	codeFile   = regexp.MustCompile(`(?i)\.(go|js|ts|py|c|h|json|ya?ml)$`)
)

// terms are the licenses and notices of a folder: all at its top, and further down those of what
// its authors took from others.
func terms(folder string) (string, error) {
	var all strings.Builder
	top := false
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != folder && (name == "testdata" || name == "_testdata" || name == "node_modules" || name == "test" || name == "tests" || name == ".git") {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || !termsFile.MatchString(name) || codeFile.MatchString(name) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		top = top || relative == name
		fmt.Fprintf(&all, "%s:\n\n%s\n\n", filepath.ToSlash(relative), strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
		return nil
	})
	if err == nil && !top {
		err = errNoTerms
	}
	return all.String(), err
}

func notices(parts []part) string {
	var text strings.Builder
	text.WriteString("ForeverVM Desktop is under the MIT license. It contains the work of others. Their terms follow: first all names, then the texts.\n" +
		"What is in the sandbox image has its terms there, and in the image's file /usr/share/doc/forevervm/LICENSES.txt.\n\n")
	for _, one := range parts {
		fmt.Fprintf(&text, "%s %s (%s)\n", one.Name, one.Version, one.Kind)
	}
	for _, one := range parts {
		if one.Terms != "" {
			fmt.Fprintf(&text, "\n%s\n%s %s\n\n%s", strings.Repeat("=", 80), one.Name, one.Version, one.Terms)
		}
	}
	return text.String()
}

func writeSBOM(path, version string, parts []part) error {
	epoch, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: time.Unix(epoch, 0).UTC().Format(time.RFC3339),
		Component: &cyclonedx.Component{BOMRef: "forevervm", Type: cyclonedx.ComponentTypeApplication, Name: "forevervm", Version: version},
	}
	components := []cyclonedx.Component{}
	for _, one := range parts {
		component := cyclonedx.Component{BOMRef: one.URL, Type: cyclonedx.ComponentTypeLibrary, Name: one.Name, Version: one.Version, PackageURL: one.URL}
		if one.License != "" {
			component.Licenses = &cyclonedx.Licenses{{Expression: one.License}}
		}
		components = append(components, component)
	}
	bom.Components = &components
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	err = cyclonedx.NewBOMEncoder(file, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return errors.Join(err, file.Close())
}

func output(folder, program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	said, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(said)), nil
}
