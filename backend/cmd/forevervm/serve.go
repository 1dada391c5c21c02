package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/daemon"
)

func (a *app) serveCommand() *cobra.Command {
	config := daemon.Config{}
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the daemon, which runs the machines", Args: cobra.NoArgs,
		Long: "Run the daemon, which runs the machines. Other commands start it when it is not running.\nOne JSON line with its address and process is printed when it is ready. Interrupted, it saves every machine and ends.\n\n" +
			"With a certificate it is a team's daemon, too: `forevervm people add` gives somebody a token, with\n" +
			"which they use machines of their own over HTTPS, at the address of --listen. The files of the\n" +
			"certificate are read again when they change.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			log.SetOutput(io.Discard) // Go's HTTP client quotes there what services answer
			config.Home = a.home
			config.Warn = func(sentence string) { fmt.Fprintln(a.err, sentence) }
			var printErr error
			config.Ready = func(url, team string) {
				printErr = json.NewEncoder(a.out).Encode(struct {
					URL  string `json:"url"`
					Team string `json:"team,omitempty"`
					PID  int    `json:"pid"`
				}{url, team, os.Getpid()})
			}
			if err := daemon.Run(cmd.Context(), config); err != nil {
				return err
			}
			return printErr
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config.Listen, "listen", "", "address to listen on, host:port (default: this computer only, and the port of last time); other computers need a certificate")
	flags.StringVar(&config.TLSCert, "tls-cert", "", "PEM file of the certificate for people of a team, with those that vouch for it")
	flags.StringVar(&config.TLSKey, "tls-key", "", "PEM file of its key")
	return cmd
}
