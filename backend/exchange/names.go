package exchange

import (
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// This file is the rule for what may come out of a machine. Results must be inert.
//
// Code in a machine is hostile. Its results lie in a folder where the person's own programs look: a
// shell prompt, a file manager, an editor, an AI app. These act on some files without a click. So a
// path comes out only if every part of it passes refuse. The rule is the same on every system,
// because the folder may lie on a stick or be synchronized to another kind of computer.
//
// The rule does not judge content. A person who runs, builds or opens a result runs what code
// wrote. The mark of a download (downloaded_*.go) has the system warn them.

// actor is a name that some program acts on without a click.
type actor struct {
	pattern string // in lower case: a name, or for path.Match where it begins with a *
	who     string // which program does what: the end of a sentence for the person
	// matters are the files in a folder of that name that make a program act, in lower case, for
	// path.Match. Nil means all. Only shares.go asks: other files change while people work.
	matters []string
}

// actors are those names. Results refuse every name that begins with a dot anyway. Such names are
// here for shares.go, and to give the better reason.
var actors = []actor{
	// git runs what a repository's config names at each `git status` (core.fsmonitor in
	// git-config(1)), and its hooks at other commands (githooks(5)). A file `.git` leads to a
	// repository elsewhere (gitrepository-layout(5)). shares.go looks into repositories itself.
	{".git", "git runs programs that it names", []string{}},
	// git takes a folder with HEAD, objects and refs for a repository, whatever its name
	// (safe.bareRepository in git-config(1)). A file `commondir` may say that objects and refs lie
	// elsewhere, and the parts may come one by one. Without HEAD git takes no folder for a
	// repository, so refusing HEAD is enough.
	{"head", "git takes a folder with it for a repository, and runs programs that it names", []string{}},
	// hgrc names hooks, extensions and aliases (`hg help config`).
	{".hg", "Mercurial runs programs that it names", []string{"hgrc"}},
	// tasks.json can run a task when the folder is opened (runOn: folderOpen). settings.json names
	// programs that extensions run.
	{".vscode", "editors run programs that it names", nil},
	// JetBrains' file watchers and run configurations are commands. workspace.xml changes all the
	// time.
	{".idea", "editors run programs that it names", []string{"watchertasks.xml", "externaldependencies.xml", "runconfigurations/*"}},
	{".zed", "editors run programs that it names", nil},
	// Vim and Neovim: `:help exrc`. Emacs: "Per-Directory Local Variables".
	{".exrc", "editors run it", nil},
	{".vimrc", "editors run it", nil},
	{".nvim.lua", "editors run it", nil},
	{".dir-locals.el", "editors run it", nil},
	// direnv and mise run these when a shell enters the folder.
	{".envrc", "shells run it", nil},
	{"mise.toml", "shells run programs that it names", nil},
	{"mise.local.toml", "shells run programs that it names", nil},
	{".mise.toml", "shells run programs that it names", nil},
	// AI apps read these when they work in a folder: hooks, MCP servers, and instructions.
	{".claude", "AI apps run programs that it names", nil},
	{".codex", "AI apps run programs that it names", nil},
	{".cursor", "AI apps run programs that it names", nil},
	{".gemini", "AI apps run programs that it names", nil},
	{".mcp.json", "AI apps run programs that it names", nil},
	{"agents.md", "AI apps follow it as your instructions", nil},
	{"agents.override.md", "AI apps follow it as your instructions", nil},
	{"claude.md", "AI apps follow it as your instructions", nil},
	{"claude.local.md", "AI apps follow it as your instructions", nil},
	{"gemini.md", "AI apps follow it as your instructions", nil},
	{"opencode.json", "AI apps run programs that it names", nil},
	{"opencode.jsonc", "AI apps run programs that it names", nil},
	{"crush.json", "AI apps run programs that it names", nil},
	// While Explorer shows a folder, it fetches the icons, pictures and lists that these name. That
	// loads code (shell links: CVE-2010-2568) or sends a hash of the person's password to a server
	// (themes: CVE-2024-21320, libraries: CVE-2025-24071).
	{"desktop.ini", "Windows acts on it", nil},
	{"*.lnk", "Windows acts on it", nil},
	{"*.url", "Windows acts on it", nil},
	{"*.scf", "Windows acts on it", nil},
	{"*.library-ms", "Windows acts on it", nil},
	{"*.search-ms", "Windows acts on it", nil},
	{"*.searchconnector-ms", "Windows acts on it", nil},
	{"*.theme", "Windows acts on it", nil},
	{"*.themepack", "Windows acts on it", nil},
	// Explorer shows a folder whose name ends in a class ID as that class draws it ("Specifying a
	// Namespace Extension's Location").
	{"*.{????????-????-????-????-????????????}", "Windows acts on it", nil},
	// Windows AutoRun, and freedesktop.org's "Autostart of Applications After Mount".
	{"autorun.inf", "the system acts on it when it lies on a stick", nil},
	{"autorun", "the system acts on it when it lies on a stick", nil},
	{"autorun.sh", "the system acts on it when it lies on a stick", nil},
	// It chooses the name and the icon that people see (freedesktop.org's "Desktop Entry
	// Specification").
	{"*.desktop", "file managers show it as something else", nil},
}

// acts returns the actor for one part of a path, or nil. A folder may be called HEAD: git reads
// only a file.
func acts(part string, folder bool) *actor {
	name := fold(part)
	i := slices.IndexFunc(actors, func(a actor) bool {
		if end, ok := strings.CutPrefix(a.pattern, "*"); !ok || !strings.HasSuffix(name, end[len(end)-1:]) { // Match is slow
			return name == a.pattern && (name != "head" || !folder)
		}
		ok, _ := path.Match(a.pattern, name)
		return ok
	})
	if i < 0 {
		return nil
	}
	return &actors[i]
}

// fold returns one spelling for all names that some file system takes for the same one. Windows and
// macOS ignore case. APFS takes U+017F for s. HFS+ ignores characters that nobody sees
// (".g\u200cit", CVE-2014-9390). Windows drops dots and spaces at the end, and takes what follows a
// colon for a part of the same file (".git::$INDEX_ALLOCATION", CVE-2019-1352).
func fold(part string) string {
	part, _, _ = strings.Cut(part, ":")
	if strings.ContainsFunc(part, func(r rune) bool { return r >= utf8.RuneSelf }) { // rarely
		part = norm.NFKC.String(strings.Map(func(r rune) rune {
			if unicode.In(r, unicode.Cf, unicode.Variation_Selector) {
				return -1
			}
			return r
		}, part))
	}
	return strings.ToLower(strings.TrimRight(part, ". "))
}

// shortName is the second name that Windows gives to a long one: "GIT~1" opens ".git"
// (CVE-2014-9390).
var shortName = regexp.MustCompile(`^[^.]{1,6}~[0-9]{1,6}(\.[^.]{0,3})?$`)

// Reasons for refusing names that no program acts on.
const (
	isHidden  = "names that begin with a dot are hidden and belong to programs"
	isOption  = "programs take names that begin with - for options"
	isForeign = "not every computer can have files with such names"
	isUnfit   = "these names have characters that nobody sees, or that change how the rest looks"
	isOwn     = "programs give such names to files of their own"
)

// refuse says why no path with this part comes out of a machine. It returns "" for one that may.
func refuse(part string, folder bool) string {
	switch a := acts(part, folder); {
	case a != nil:
		return a.who
	case !utf8.ValidString(part), strings.ContainsFunc(part, unfit):
		return isUnfit
	case strings.HasPrefix(fold(part), "."):
		return isHidden
	case strings.HasPrefix(part, "-"):
		return isOption
	case fold(part) == "", strings.TrimRight(part, ". ") != part, shortName.MatchString(part),
		runtime.GOOS == "windows" && strings.ContainsAny(part, `<>"|?*`):
		return isForeign
	case passing(part):
		return isOwn
	}
	return ""
}

// unfit says whether a character must not be in a name. Control characters and line breaks change
// what a terminal shows and what a program reads. Others turn the direction of text:
// "a\u202egnp.exe" looks like "aexe.png".
func unfit(r rune) bool {
	return unicode.In(r, unicode.Bidi_Control, unicode.Cc, unicode.Zl, unicode.Zp)
}

// refused returns the path up to the first part that is refused, and why. The reason is "" for a
// path that may come out.
func refused(name string, folder bool) (at, why string) {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if why := refuse(part, folder || i < len(parts)-1); why != "" {
			return strings.Join(parts[:i+1], "/"), why
		}
	}
	return "", ""
}
