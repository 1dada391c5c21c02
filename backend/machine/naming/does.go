package naming

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Act is one thing that code does, as a person would put it: it reads sales.csv, draws a chart.
type Act struct {
	What  What
	Names []string // of what it does that to: files, packages, websites, variables; may be empty
}

// What is a kind of act.
type What string

// The kinds.
const (
	Installs What = "installs" // packages
	Fetches  What = "fetches"  // from websites
	Reads    What = "reads"    // files
	Fits     What = "fits"     // a model
	Draws    What = "draws"    // a chart
	Saves    What = "saves"    // files
	Defines  What = "defines"  // functions and classes
	Computes What = "computes" // variables
	Shows    What = "shows"    // a variable
	Loads    What = "loads"    // libraries
)

const (
	maxActs  = 3
	maxNames = 3
	maxName  = 40 // characters
)

// told are the acts that say what code is for, where they are found in a line. What is in the first
// group is what the act is about.
var told = []struct {
	what What
	in   *regexp.Regexp
}{
	{Installs, regexp.MustCompile(`^\s*[%!]\s*(?:uv )?pip3? install (.+)`)},
	{Fetches, regexp.MustCompile(`(?:\b(?:requests|httpx|session|client)\.(?:get|post)|\burlopen|\burlretrieve)\(\s*f?["']https?://([^/"'{}@]+)`)},
	{Reads, regexp.MustCompile(`\b(?:read_(?:csv|excel|parquet|json|table|html|feather|pickle|xml|fwf|stata|spss|sas)|loadtxt|genfromtxt|imread|load_workbook|scan_csv|scan_parquet)\(\s*["']([^"']+)["']`)},
	{Reads, regexp.MustCompile(`\bopen\(\s*["']([^"']+)["']\s*(?:\)|,\s*(?:["']rb?["']|encoding|newline))`)},
	{Saves, regexp.MustCompile(`(?:\.(?:to_(?:csv|excel|parquet|json|html|feather|pickle|markdown|latex|stata)|savefig|write_(?:html|image|csv|parquet)|save)|\bimwrite|\bnp\.savez?|\bjoblib\.dump)\((?:\w+,\s*)?\s*["']([^"']+)["']`)},
	{Saves, regexp.MustCompile(`\bopen\(\s*["']([^"']+)["']\s*,\s*["'][wax]`)},
	{Fits, regexp.MustCompile(`\.(?:fit|fit_transform|fit_predict|partial_fit)\(|\b(?:cross_val_score|curve_fit|linregress|polyfit)\(`)},
	{Draws, regexp.MustCompile(`\bplt\.(?:plot|bar|barh|hist|scatter|pie|imshow|subplots|figure|boxplot|fill_between|step|stem)\(|\.plot(?:\.\w+)?\(|\b(?:sns|px|alt)\.[a-zA-Z]+\(|\bgo\.Figure\(|\.(?:hist|boxplot)\(`)},
}

var (
	defined  = regexp.MustCompile(`^(?:async\s+)?(?:def|class)\s+(\w+)`)
	computed = regexp.MustCompile(`^([^\W\d_]\w*)(?:\.\w+|\[[^\]]*\])*\s*(?::[^=]+)?[-+*/|&]?=[^=]`)
	loaded   = regexp.MustCompile(`^(?:import|from)\s+(\w+)`)
	shown    = regexp.MustCompile(`^([^\W\d_]\w*)(?:\.(?:head|tail|sample|describe|info)\([^()]*\))?$`)
)

// plumbing are libraries that say nothing of what a person's work is.
var plumbing = map[string]bool{
	"__future__": true, "collections": true, "contextlib": true, "functools": true, "IPython": true, "io": true, "logging": true,
	"os": true, "pathlib": true, "sys": true, "time": true, "types": true, "typing": true, "warnings": true,
}

// Does is what code does, in its order, at most three things. It is a guess from the text. The code
// may be anything.
func Does(code string) []Act {
	var acts, lesser []Act
	add := func(to *[]Act, what What, name string) {
		i := slices.IndexFunc(*to, func(a Act) bool { return a.What == what })
		if i < 0 {
			*to = append(*to, Act{What: what})
			i = len(*to) - 1
		}
		names := &(*to)[i].Names
		if name = shortName(name); name != "" && len(*names) < maxNames && !slices.Contains(*names, name) {
			*names = append(*names, name)
		}
	}
	until := ""
	last := ""
	for line := range strings.Lines(strings.ToValidUTF8(code[:min(len(code), titleWithin)], "")) {
		line = strings.TrimRight(line, " \t\r\n")
		if until != "" { // inside a string of several lines
			if strings.Contains(line, until) {
				until = ""
			}
			continue
		}
		bare := strings.TrimSpace(line)
		if bare == "" || bare[0] == '#' {
			continue
		}
		until, last = opens(bare), line
		for _, t := range told {
			for _, found := range t.in.FindAllStringSubmatch(line, -1) {
				if len(found) == 1 {
					add(&acts, t.what, "")
					continue
				}
				for _, name := range namesOf(t.what, found[1]) {
					add(&acts, t.what, name)
				}
			}
		}
		for what, in := range map[What]*regexp.Regexp{Defines: defined, Computes: computed, Loads: loaded} {
			if found := in.FindStringSubmatch(line); found != nil && (what != Loads || !plumbing[found[1]]) {
				add(&lesser, what, found[1])
			}
		}
	}
	if found := shown.FindStringSubmatch(last); found != nil {
		add(&lesser, Shows, found[1])
	}
	if len(acts) > 0 {
		return acts[:min(len(acts), maxActs)]
	}
	for _, what := range []What{Defines, Computes, Shows, Loads} {
		if i := slices.IndexFunc(lesser, func(a Act) bool { return a.What == what }); i >= 0 {
			return lesser[i : i+1]
		}
	}
	return nil
}

// verbs are the acts in words, as the page says them in English.
var verbs = map[What]string{
	Installs: "installs", Fetches: "gets data from", Reads: "reads", Fits: "fits a model", Draws: "draws a chart", Saves: "saves",
	Defines: "defines", Computes: "works out", Shows: "shows", Loads: "loads",
}

// Phrase is acts as a headline, such as "Reads sales.csv, draws a chart".
func Phrase(acts []Act) string {
	parts := make([]string, len(acts))
	for i, act := range acts {
		parts[i] = strings.TrimSpace(verbs[act.What] + " " + strings.Join(act.Names, ", "))
	}
	text := strings.Join(parts, ", ")
	return strings.ToUpper(text[:min(len(text), 1)]) + text[min(len(text), 1):]
}

// namesOf are what an act is about, from what stands in the code.
func namesOf(what What, text string) []string {
	switch what {
	case Installs:
		return slices.DeleteFunc(strings.Fields(text), func(word string) bool { return word[0] == '-' })
	case Fetches:
		return []string{text}
	}
	return []string{path.Base(strings.ReplaceAll(text, `\`, "/"))}
}

// shortName is a name made fit to be shown; "" for one that cannot be.
func shortName(name string) string {
	name = visible(name)
	if letters := []rune(name); len(letters) > maxName {
		name = string(letters[:maxName-1]) + "…"
	}
	return name
}
