package main

import (
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/app/autostart"
	"github.com/forevervm/desktop/backend/aiapps"
	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/credentials"
	"github.com/forevervm/desktop/backend/daemon"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/secrets"
)

// uninstallCommand does what an installer cannot know of. Windows' calls it.
func (a *app) uninstallCommand() *cobra.Command {
	var agreed, data bool
	cmd := &cobra.Command{
		Use: "uninstall", Short: "Disconnect AI apps and end the daemon, before ForeverVM is removed", Args: cobra.NoArgs,
		Long: "Get ready to be removed: AI apps are disconnected, the window no longer starts at login, and the daemon is ended, with every machine\n" +
			"saved. The program itself is removed in the way of your system. Machines stay for a later ForeverVM, unless you say --data.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !agreed {
				question := "Disconnect AI apps and end the daemon?"
				if data {
					question = "Disconnect AI apps, end the daemon, and delete all machines for good, with everything that is in them?"
				}
				if a.json || !a.atTerminal() {
					return errors.New("nobody can be asked here: say --yes")
				}
				if !a.agrees("%s", question) {
					return nil
				}
			}
			dirs, err := home.Resolve(a.home)
			if err != nil {
				return err
			}
			// Whatever fails before, the daemon must not go on running a program that is about to
			// go.
			undone := errors.Join(a.disconnectAll(), autostart.Entry{ID: dirs.LoginEntry()}.Set(false))
			if _, err := connect.Stop(cmd.Context(), a.connection()); err != nil {
				return errors.Join(undone, err)
			}
			if !data {
				return undone
			}
			return errors.Join(undone, emptyKeyring(dirs), daemon.RemoveDistribution(cmd.Context(), dirs, slog.New(slog.DiscardHandler)), dirs.Remove())
		},
	}
	cmd.Flags().BoolVar(&agreed, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&data, "data", false, "delete all machines and settings, too")
	return cmd
}

// emptyKeyring takes tokens and secrets out of the keyring. Without any, it is not asked.
func emptyKeyring(dirs home.Dirs) error {
	failures := []error{secrets.Open(dirs.SecretsFile(), credentials.OpenVault(dirs, "secrets")).Clear()}
	accounts := credentials.Open(dirs)
	if accounts.FromEnvironment() {
		return errors.Join(failures...)
	}
	all, _, err := accounts.Accounts()
	failures = append(failures, err)
	for _, account := range all {
		failures = append(failures, accounts.Forget(account))
	}
	return errors.Join(failures...)
}

// disconnectAll takes the connection out of all apps that have it.
func (a *app) disconnectAll() error {
	desk, err := a.desk()
	if err != nil {
		return err
	}
	apps, err := desk.Status()
	if err != nil {
		return err
	}
	var connected []string
	for _, one := range apps {
		if hasConnection(one.State) {
			connected = append(connected, one.App.ID)
		}
	}
	if len(connected) == 0 && !a.json {
		return nil
	}
	return a.changeApps(desk, connected, aiapps.Options{}, (*aiapps.Manager).Disconnect)
}
