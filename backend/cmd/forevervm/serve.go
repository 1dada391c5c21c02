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
		Long: "Run the daemon, which runs the machines. Other commands start it when it is not running.\nOne JSON line with its address and process is printed when it is ready. Interrupted, it saves every machine and ends.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			log.SetOutput(io.Discard) // Go's HTTP client quotes there what services answer
			config.Home = a.home
			config.Warn = func(sentence string) { fmt.Fprintln(a.err, sentence) }
			var printErr error
			config.Ready = func(url string) {
				printErr = json.NewEncoder(a.out).Encode(struct {
					URL string `json:"url"`
					PID int    `json:"pid"`
				}{url, os.Getpid()})
			}
			if err := daemon.Run(cmd.Context(), config); err != nil {
				return err
			}
			return printErr
		},
	}
	cmd.Flags().StringVar(&config.Listen, "listen", "", "address to listen on, host:port (default: this computer only, and the port of last time)")
	return cmd
}
