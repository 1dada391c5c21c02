package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// group is a number of commands under one heading.
type group struct{ title, commands string }

// groups are the headings of the help, by the command that has them. Its other commands come last.
var groups = map[string][]group{
	"forevervm": {
		{"Work with machines", "machine exec repl cp export search"},
		{"AI apps", "connect disconnect apps repair install mcp"},
		{"Hosted service", "signup login logout whoami"},
		{"ForeverVM on this computer", "open serve stop settings backup storage engines places kubernetes checkpoints token people secret record doctor update uninstall version"},
	},
	"forevervm machine": {
		{"Make, find and remove", "new list copy move rename title tag delete restore purge"},
		{"Run", "repl stop sleep wake limit"},
		{"Go back", "checkpoint checkpoints back branches branch compare"},
		{"Files", "files share save open makers"},
		{"Network", "network connections answer"},
	},
}

// examples are what people type, by command.
var examples = map[string]string{
	"forevervm exec": `forevervm exec brave-otter-42 '1 + 1'
forevervm exec brave-otter-42 - < script.py
forevervm exec brave-otter-42 --plots . --timeout 60 'df.plot()'`,
	"forevervm repl":   `forevervm repl brave-otter-42`,
	"forevervm search": `forevervm search revenue 2025`,
	"forevervm cp": `forevervm cp sales.csv brave-otter-42:
forevervm cp brave-otter-42:plots .`,
	"forevervm connect": `forevervm connect claude
forevervm connect --all --dry-run`,
	"forevervm disconnect":   `forevervm disconnect claude`,
	"forevervm apps":         `forevervm apps`,
	"forevervm apps backups": `forevervm apps backups claude`,
	"forevervm apps offer":   `forevervm apps offer claude`,
	"forevervm apps restore": `forevervm apps restore claude BACKUP`,
	"forevervm apps test":    `forevervm apps test claude`,
	"forevervm repair":       `forevervm repair claude`,
	"forevervm install":      `forevervm install --claude`,
	"forevervm mcp":          `forevervm mcp --answer-within 30s`,
	"forevervm signup":       `forevervm signup`,
	"forevervm login":        `forevervm login < token.txt`,
	"forevervm logout":       `forevervm logout`,
	"forevervm whoami":       `forevervm whoami`,
	"forevervm open":         `forevervm open --print`,
	"forevervm places list":  `forevervm places list`,
	"forevervm places add": `forevervm places add ssh me@big-computer
forevervm places add kubernetes --context company --repository registry.example/forevervm/sandbox`,
	"forevervm kubernetes push":     `forevervm kubernetes push registry.example/forevervm/sandbox`,
	"forevervm kubernetes manifest": `forevervm kubernetes manifest --repository registry.example/forevervm/sandbox > forevervm.yaml`,
	"forevervm places remove":       `forevervm places remove ssh:me@big-computer`,
	"forevervm secret list":         `forevervm secret list`,
	"forevervm secret set":          `forevervm secret set OPENAI_API_KEY --host api.openai.com < key.txt`,
	"forevervm secret remove":       `forevervm secret remove OPENAI_API_KEY`,
	"forevervm token": `forevervm token
forevervm token --owner`,
	"forevervm token list":    `forevervm token list`,
	"forevervm token new":     `forevervm token new "My script"`,
	"forevervm token revoke":  `forevervm token revoke "Claude Desktop"`,
	"forevervm token allow":   `forevervm token allow "Claude Desktop"`,
	"forevervm people list":   `forevervm people list`,
	"forevervm people add":    `forevervm people add Anna`,
	"forevervm people renew":  `forevervm people renew Anna`,
	"forevervm people remove": `forevervm people remove Anna`,
	"forevervm record":        `forevervm record --limit 20`,
	"forevervm serve": `forevervm serve --listen 127.0.0.1:8099
forevervm serve --listen 0.0.0.0:8443 --tls-cert tls.crt --tls-key tls.key`,
	"forevervm stop":                  `forevervm stop --all`,
	"forevervm settings":              `forevervm settings`,
	"forevervm engines":               `forevervm engines`,
	"forevervm engines start":         `forevervm engines start docker`,
	"forevervm checkpoints check":     `forevervm checkpoints check --read-data`,
	"forevervm checkpoints repair":    `forevervm checkpoints repair`,
	"forevervm doctor":                `forevervm doctor`,
	"forevervm backup":                `forevervm backup`,
	"forevervm backup now":            `forevervm backup now`,
	"forevervm storage":               `forevervm storage`,
	"forevervm storage move":          `forevervm storage move /media/me/big-disk`,
	"forevervm storage free":          `forevervm storage free --bin --packages`,
	"forevervm update":                `forevervm update`,
	"forevervm update install":        `forevervm update install`,
	"forevervm uninstall":             `forevervm uninstall --data`,
	"forevervm version":               `forevervm version`,
	"forevervm machine new":           `forevervm machine new --title "Sales of 2025" --memory-mb 4096`,
	"forevervm machine list":          `forevervm machine list --watch`,
	"forevervm machine copy":          `forevervm machine copy brave-otter-42 --engine docker`,
	"forevervm machine move":          `forevervm machine move brave-otter-42 --to ssh:me@bigbox`,
	"forevervm machine rename":        `forevervm machine rename brave-otter-42 sales`,
	"forevervm machine title":         `forevervm machine title brave-otter-42 "Sales of 2025"`,
	"forevervm machine tag":           `forevervm machine tag brave-otter-42 project=sales draft-`,
	"forevervm machine delete":        `forevervm machine delete brave-otter-42`,
	"forevervm machine restore":       `forevervm machine restore brave-otter-42`,
	"forevervm machine purge":         `forevervm machine purge brave-otter-42`,
	"forevervm machine repl":          `forevervm machine repl brave-otter-42`,
	"forevervm machine stop":          `forevervm machine stop brave-otter-42`,
	"forevervm machine sleep":         `forevervm machine sleep brave-otter-42`,
	"forevervm machine wake":          `forevervm machine wake brave-otter-42`,
	"forevervm machine limit":         `forevervm machine limit brave-otter-42 4096`,
	"forevervm machine checkpoint":    `forevervm machine checkpoint brave-otter-42 --label "before the cleanup"`,
	"forevervm machine checkpoints":   `forevervm machine checkpoints brave-otter-42`,
	"forevervm machine branches":      `forevervm machine branches brave-otter-42`,
	"forevervm machine branch rename": `forevervm machine branch rename brave-otter-42 '22 November 18:14' 'with outliers'`,
	"forevervm machine branch delete": `forevervm machine branch delete brave-otter-42 'with outliers'`,
	"forevervm machine compare":       `forevervm machine compare brave-otter-42 CHECKPOINT`,
	"forevervm machine files ls":      `forevervm machine files ls brave-otter-42 plots`,
	"forevervm machine files get":     `forevervm machine files get brave-otter-42 result.csv`,
	"forevervm machine files put":     `forevervm machine files put brave-otter-42 sales.csv data/sales.csv`,
	"forevervm machine files rm":      `forevervm machine files rm brave-otter-42 old.csv`,
	"forevervm machine files mkdir":   `forevervm machine files mkdir brave-otter-42 data/raw`,
	"forevervm machine makers":        `forevervm machine makers`,
	"forevervm machine connections":   `forevervm machine connections brave-otter-42`,
	"forevervm machine answer":        `forevervm machine answer brave-otter-42 17 once`,
}

// explain gives the commands their groups and examples.
func explain(cmd *cobra.Command) {
	for _, g := range groups[cmd.CommandPath()] {
		cmd.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, sub := range cmd.Commands() {
			for name := range strings.FieldsSeq(g.commands) {
				if sub.Name() == name {
					sub.GroupID = g.title
				}
			}
		}
	}
	if example := examples[cmd.CommandPath()]; example != "" {
		cmd.Example = "  " + strings.ReplaceAll(example, "\n", "\n  ")
	}
	if !cmd.Runnable() {
		cmd.Annotations = map[string]string{onlyGroup: "true"}
		cmd.DisableFlagsInUseLine = true
		cmd.RunE = onlySubcommands
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error { return usage(cmd, check(cmd, args)) }
	}
	for _, sub := range cmd.Commands() {
		explain(sub)
	}
}

// onlyGroup marks a command that does nothing but hold others.
const onlyGroup = "group"

// onlySubcommands is what such a command does: it shows its help, and refuses a word that names
// none of them.
func onlySubcommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	cmd.SuggestionsMinimumDistance = 2
	hint := ""
	if close := cmd.SuggestionsFor(args[0]); len(close) > 0 {
		hint = fmt.Sprintf(" Did you mean %q?", close[0])
	}
	return fmt.Errorf("%q is no command of `%s`.%s `%s --help` lists them", args[0], cmd.CommandPath(), hint, cmd.CommandPath())
}

// usage says how a command is called, in place of cobra's count of its arguments.
func usage(cmd *cobra.Command, err error) error {
	if err == nil || !strings.Contains(err.Error(), "arg(s)") {
		return err
	}
	return fmt.Errorf("call it as `%s`; `%s --help` says more", cmd.UseLine(), cmd.CommandPath())
}

// reference writes the page docs/cli.md: every command, as its --help says it.
func reference(root *cobra.Command, w io.Writer) error {
	page := &strings.Builder{}
	page.WriteString("# Command line\n\n" +
		"`make generate` writes this page from the program. `forevervm COMMAND --help` says the same.\n" +
		"`forevervm completion --help` says how your shell completes commands. Every command takes these flags:\n\n")
	code(page, root.PersistentFlags().FlagUsagesWrapped(100))
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		if cmd.Annotations[onlyGroup] == "" {
			fmt.Fprintf(page, "\n### %s\n\n", cmd.CommandPath())
			told(page, cmd)
			code(page, "  "+cmd.UseLine()+"\n")
			if len(cmd.Aliases) > 0 {
				fmt.Fprintf(page, "\nOther names: `%s`.\n", strings.Join(cmd.Aliases, "`, `"))
			}
			if own := flagsOf(cmd); own.HasAvailableFlags() {
				page.WriteString("\nFlags:\n\n")
				code(page, own.FlagUsagesWrapped(100))
			}
			if cmd.Example != "" {
				page.WriteString("\nFor example:\n\n")
				code(page, cmd.Example+"\n")
			}
		}
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				each(sub)
			}
		}
	}
	for _, g := range groups[root.Name()] {
		heading := false
		for _, sub := range root.Commands() {
			if !sub.IsAvailableCommand() || sub.GroupID != g.title {
				continue
			}
			if !heading {
				fmt.Fprintf(page, "\n## %s\n", g.title)
				heading = true
			}
			each(sub)
		}
	}
	_, err := io.WriteString(w, page.String())
	return err
}

// told writes what a command does. Paragraphs that are lists, in columns, stay as they are.
func told(page *strings.Builder, cmd *cobra.Command) {
	if cmd.Long == "" {
		page.WriteString(cmd.Short + ".\n\n")
		return
	}
	for paragraph := range strings.SplitSeq(strings.TrimSpace(cmd.Long), "\n\n") {
		if strings.Contains(paragraph, "  ") {
			paragraph = "```text\n" + paragraph + "\n```"
		}
		page.WriteString(paragraph + "\n\n")
	}
}

// flagsOf are a command's own flags, without --help, which each has.
func flagsOf(cmd *cobra.Command) *pflag.FlagSet {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			own.AddFlag(f)
		}
	})
	return own
}

// code writes indented lines as a block of shell code.
func code(page *strings.Builder, lines string) {
	page.WriteString("```sh\n")
	for line := range strings.Lines(lines) {
		page.WriteString(strings.TrimPrefix(line, "  "))
	}
	page.WriteString("```\n")
}
