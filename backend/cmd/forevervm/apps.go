package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/forevervm/desktop/backend/aiapps"
	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/home"
)

// desk is the manager of this computer's AI apps.
func (a *app) desk() (*aiapps.Manager, error) {
	dirs, err := home.Resolve(a.home)
	if err != nil {
		return nil, err
	}
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return aiapps.Here(dirs, executable)
}

func (a *app) appsCommand() *cobra.Command {
	group := &cobra.Command{
		Use: "apps", Short: "List the AI apps on this computer, and whether they are connected", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			desk, err := a.desk()
			if err != nil {
				return err
			}
			all, err := desk.Status()
			if err != nil {
				return err
			}
			// Without the daemon it is not known which apps were heard from; all else is.
			var clients []api.ClientUse
			if c, err := a.connect(cmd.Context()); err == nil {
				clients, err = c.Clients(cmd.Context())
				if err != nil && !errors.Is(err, client.ErrUnsupported) {
					return err
				}
			} else {
				fmt.Fprintln(a.err, "forevervm: which apps were heard from is not known:", err)
			}
			apps := []api.App{}
			for _, status := range all {
				apps = append(apps, status.Document(clients))
			}
			return a.print(api.List[api.App]{Items: apps}, func(w io.Writer) { writeApps(w, apps) })
		},
	}
	group.AddCommand(
		&cobra.Command{
			Use: "backups APP", Short: "List the copies of an app's settings, made before each change", Args: cobra.ExactArgs(1), ValidArgsFunction: completeApps,
			RunE: func(_ *cobra.Command, args []string) error {
				desk, err := a.desk()
				if err != nil {
					return err
				}
				all, err := desk.Backups(args[0])
				if err != nil {
					return err
				}
				backups := []api.AppBackup{}
				for _, backup := range all {
					backups = append(backups, backup.Document())
				}
				return a.print(api.List[api.AppBackup]{Items: backups}, func(w io.Writer) {
					table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
					fmt.Fprintln(table, "BACKUP\tMADE\tSIZE\tOF")
					for _, b := range backups {
						fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", b.ID, ago(b.At), bytesText(b.Size), b.Path)
					}
					table.Flush()
				})
			},
		},
		&cobra.Command{
			Use: "offer APP", Short: "Have an app ask you itself whether to connect", Args: cobra.ExactArgs(1), ValidArgsFunction: completeApps,
			Long: "Have an app ask you itself whether to connect: Claude Desktop is given its extension, and Cursor, VS Code and LM Studio open a link.\nThey change their settings themselves; in the others, `forevervm connect` does.",
			RunE: func(cmd *cobra.Command, args []string) error {
				desk, err := a.desk()
				if err != nil {
					return err
				}
				opened, err := desk.Offer(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				one, _ := aiapps.Find(args[0])
				return a.print(api.AppOffer{Opened: opened}, func(w io.Writer) {
					fmt.Fprintf(w, "Opened %s\n%s asks you now. If another program opens it, ", opened, one.Name)
					if one.Offers() == "extension" {
						fmt.Fprintf(w, "drag that file into the page of extensions in %s's settings.\n", one.Name)
					} else {
						fmt.Fprintf(w, "or nothing happens, `forevervm connect %s` adds the entry itself.\n", one.ID)
					}
				})
			},
		},
		&cobra.Command{
			Use: "test APP", Short: "Start ForeverVM as the app does, and see whether it answers", Args: cobra.ExactArgs(1), ValidArgsFunction: completeApps,
			RunE: func(cmd *cobra.Command, args []string) error {
				desk, err := a.desk()
				if err != nil {
					return err
				}
				result, err := desk.Test(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.print(result, func(w io.Writer) {
					fmt.Fprintf(w, "It works: version %s answered after %.0f ms, with %d tools.\n", result.Version, result.TookMS, result.Tools)
				})
			},
		},
		&cobra.Command{
			Use: "restore APP BACKUP", Short: "Restore a copy of an app's settings; the present ones are copied first", Args: cobra.ExactArgs(2), ValidArgsFunction: completeApps,
			RunE: func(_ *cobra.Command, args []string) error {
				desk, err := a.desk()
				if err != nil {
					return err
				}
				report, err := desk.Restore(args[0], args[1])
				if err != nil {
					return err
				}
				return a.printReports([]aiapps.Report{report}, false)
			},
		},
	)
	return group
}

// stateWords say what a state means, and what to do.
var stateWords = map[aiapps.State]string{
	aiapps.Connected:    "connected",
	aiapps.Extension:    "connected by its extension",
	aiapps.NotConnected: "not connected",
	aiapps.Outdated:     "connected to another version of this program, or switched off: `forevervm repair %s`",
	aiapps.Wiped:        "disconnected, as it overwrote its settings: `forevervm repair %s`",
	aiapps.Unfinished:   "its extension was not installed: `forevervm repair %s` adds an entry to its settings instead",
	aiapps.Official:     "connected to the hosted service: `forevervm connect %s --replace` for this computer",
	aiapps.Taken:        "has another server of our name",
	aiapps.Broken:       "its settings cannot be read",
}

func writeApps(w io.Writer, apps []api.App) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "APP\tNAME\tHEARD FROM\tVERSION\tCALLS\tSTATE")
	var absent, problems []string
	for _, one := range apps {
		if !one.Installed {
			absent = append(absent, one.ID)
			continue
		}
		state := stateWords[aiapps.State(one.State)]
		if strings.Contains(state, "%s") {
			state = fmt.Sprintf(state, one.ID)
		}
		heard, version, calls := "never", "-", "-"
		if one.Seen != nil {
			heard, calls = ago(one.Seen.At), strconv.Itoa(one.Seen.Calls)
			if one.Seen.Version != "" {
				version = printable(one.Seen.Version)
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", one.ID, one.Name, heard, version, calls, state)
		for _, file := range one.Files {
			if file.Problem != "" {
				problems = append(problems, file.Problem)
			}
		}
	}
	table.Flush()
	for _, problem := range problems {
		fmt.Fprintln(w, problem)
	}
	if len(absent) > 0 {
		fmt.Fprintf(w, "Not found here: %s.\n", strings.Join(absent, ", "))
	}
}

// change is one of the manager's methods.
type change func(*aiapps.Manager, string, aiapps.Options) (aiapps.Report, error)

// onApps makes a command that changes the settings of apps: those that are named, else, where
// everything says so, all for which fit holds.
func (a *app) onApps(use, short, long string, allByDefault bool, fit func(aiapps.State) bool, do change) *cobra.Command {
	var options aiapps.Options
	var all bool
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, ValidArgsFunction: completeApps,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return errors.New("name apps, or say --all, not both")
			case !all && !allByDefault && len(args) == 0:
				return errors.New("name the apps, such as claude or cursor (`forevervm apps` lists them), or say --all")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, ids []string) error {
			desk, err := a.desk()
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				apps, err := desk.Status()
				if err != nil {
					return err
				}
				for _, one := range apps {
					if one.Installed && fit(one.State) {
						ids = append(ids, one.App.ID)
					}
				}
			}
			options.Restart = a.mayRestart(desk, ids, options, fit)
			return a.changeApps(desk, ids, options, do)
		},
	}
	flags := cmd.Flags()
	addRestart(flags, &options)
	if !allByDefault {
		flags.BoolVar(&all, "all", false, "all apps that are installed")
	}
	flags.BoolVar(&options.DryRun, "dry-run", false, "only show what would change")
	if strings.HasPrefix(use, "connect") {
		flags.BoolVar(&options.Skill, "skill", false, "also add a skill, which tells the app's models when and how to use machines (Claude Code, Codex, Gemini CLI)")
	}
	if strings.HasPrefix(use, "connect") || allByDefault {
		flags.BoolVar(&options.Replace, "replace", false, "replace another server of the same name, such as the hosted service; disconnecting puts it back")
	}
	return cmd
}

func addRestart(flags *pflag.FlagSet, options *aiapps.Options) {
	flags.BoolVar(&options.Restart, "restart", false, "quit Claude Desktop for the change where it runs, and start it again (at a terminal you are asked)")
}

// mayRestart says whether apps may be quit for a change and started again: as the options say, else
// as the person does, where one can be asked.
func (a *app) mayRestart(desk *aiapps.Manager, ids []string, options aiapps.Options, fit func(aiapps.State) bool) bool {
	if options.Restart || options.DryRun || a.json || len(ids) == 0 || !a.atTerminal() {
		return options.Restart
	}
	apps, err := desk.Status(ids...)
	return err == nil && slices.ContainsFunc(apps, func(one aiapps.AppStatus) bool {
		return one.Running && one.App.Restarts && fit(one.State) &&
			a.agrees("%s runs. It sees the change when it next starts, and may undo it when it quits. Quit it now, and start it again then?", one.App.Name)
	})
}

// changeApps changes one app after the other; what fails with one keeps none of the others.
func (a *app) changeApps(desk *aiapps.Manager, ids []string, options aiapps.Options, do change) error {
	var reports []aiapps.Report
	var failures []error
	for _, id := range ids {
		report, err := do(desk, id, options)
		if len(report.Changes) > 0 {
			reports = append(reports, report)
		}
		if err != nil {
			failures = append(failures, err)
		}
	}
	if len(reports) > 0 || len(failures) == 0 || a.json {
		failures = append([]error{a.printReports(reports, options.DryRun)}, failures...)
	}
	return errors.Join(failures...)
}

func (a *app) printReports(reports []aiapps.Report, dryRun bool) error {
	documents := []api.AppReport{}
	for _, report := range reports {
		documents = append(documents, report.Document())
	}
	return a.print(struct {
		DryRun bool            `json:"dry_run"`
		Apps   []api.AppReport `json:"apps"`
	}{dryRun, documents}, func(w io.Writer) {
		if len(documents) == 0 {
			fmt.Fprintln(w, "There is nothing to do.")
		}
		for _, report := range documents {
			writeReport(w, report, dryRun)
		}
	})
}

// actionWords say what was done to a file, and what would be.
var actionWords = map[aiapps.Action][2]string{
	aiapps.Nothing:     {"nothing to change in %s", "nothing to change in %s"},
	aiapps.Added:       {"connected, in %s", "would be connected, in %s"},
	aiapps.Updated:     {"brought up to date, in %s", "would be brought up to date, in %s"},
	aiapps.Replaced:    {"connected in place of another server, in %s", "would be connected in place of another server, in %s"},
	aiapps.Removed:     {"disconnected, in %s", "would be disconnected, in %s"},
	aiapps.PutBack:     {"disconnected, and the server of before put back, in %s", "would be disconnected, and the server of before put back, in %s"},
	aiapps.DeletedFile: {"disconnected; %s held nothing else and is deleted", "would be disconnected; %s holds nothing else and would be deleted"},
	aiapps.Restored:    {"restored %s", "would restore %s"},

	aiapps.SkillAdded:   {"its skill is added, in %s", "its skill would be added, in %s"},
	aiapps.SkillRemoved: {"its skill is removed, from %s", "its skill would be removed, from %s"},
}

func writeReport(w io.Writer, report api.AppReport, dryRun bool) {
	changed := false
	for _, one := range report.Changes {
		words := actionWords[aiapps.Action(one.Action)][0]
		if dryRun {
			words = actionWords[aiapps.Action(one.Action)][1]
		}
		fmt.Fprintf(w, "%s: "+words+".\n", report.Name, one.Path)
		if dryRun {
			fmt.Fprint(w, one.Difference)
		}
		changed = changed || one.Action != string(aiapps.Nothing)
	}
	if !changed || dryRun {
		return
	}
	if report.Restarted {
		fmt.Fprintf(w, "  %s was quit and started again.\n", report.Name)
	} else if report.Running {
		fmt.Fprintf(w, "  %s runs and does not know of it yet. %s\n", report.Name, report.Next)
	} else if report.Next != "" {
		fmt.Fprintf(w, "  If it runs: %s\n", report.Next)
	}
}

func lacksConnection(state aiapps.State) bool {
	return state != aiapps.Connected && state != aiapps.Extension
}

func (a *app) connectCommand() *cobra.Command {
	cmd := a.onApps("connect [APP…]", "Let AI apps run Python here",
		"Let AI apps run Python here: an entry is added to the list of MCP servers in their settings, and nothing else in those is changed.\nA copy of the settings is kept (`forevervm apps backups`).",
		false, lacksConnection, (*aiapps.Manager).Connect)
	cmd.Example = "  forevervm connect claude\n  forevervm connect claude-code --skill\n  forevervm connect --all --dry-run"
	return cmd
}

func (a *app) disconnectCommand() *cobra.Command {
	return a.onApps("disconnect [APP…]", "Disconnect AI apps",
		"Take the entry out of AI apps' settings again. Where nothing else has changed in them since, they are what they were, to the byte.",
		false, hasConnection, (*aiapps.Manager).Disconnect)
}

func hasConnection(state aiapps.State) bool {
	return state == aiapps.Connected || state == aiapps.Outdated || state == aiapps.Wiped
}

func (a *app) repairCommand() *cobra.Command {
	return a.onApps("repair [APP…]", "Repair the connections of AI apps",
		"Repair the connections of AI apps, or that start a program which is no longer there. Without names: all of them.",
		true, func(state aiapps.State) bool {
			return state == aiapps.Outdated || state == aiapps.Wiped || state == aiapps.Unfinished
		}, (*aiapps.Manager).Repair)
}

// installCommand is connect as the official MCP server's program has it.
func (a *app) installCommand() *cobra.Command {
	chosen := map[string]*bool{}
	var options aiapps.Options
	cmd := &cobra.Command{
		Use: "install", Short: "Connect AI apps, with the flags of the official forevervm-mcp", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var ids []string
			for _, id := range []string{"claude", "goose", "windsurf"} {
				if *chosen[id] {
					ids = append(ids, id)
				}
			}
			if len(ids) == 0 {
				return errors.New("say which apps: --claude, --goose, --windsurf; `forevervm connect` knows more of them")
			}
			desk, err := a.desk()
			if err != nil {
				return err
			}
			options.Restart = a.mayRestart(desk, ids, options, lacksConnection)
			return a.changeApps(desk, ids, options, (*aiapps.Manager).Connect)
		},
	}
	flags := cmd.Flags()
	chosen["claude"] = flags.BoolP("claude", "c", false, "Claude Desktop")
	chosen["goose"] = flags.BoolP("goose", "g", false, "Goose")
	chosen["windsurf"] = flags.BoolP("windsurf", "w", false, "Windsurf")
	flags.BoolVar(&options.Replace, "replace", false, "replace another server of the same name, such as the hosted service")
	addRestart(flags, &options)
	return cmd
}

func completeApps(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	for _, one := range aiapps.Apps {
		if strings.HasPrefix(one.ID, prefix) {
			ids = append(ids, cobra.CompletionWithDesc(one.ID, one.Name))
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
