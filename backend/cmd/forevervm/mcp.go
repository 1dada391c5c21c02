package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/mcpserver"
	"github.com/forevervm/desktop/backend/version"
	"github.com/forevervm/desktop/frontend"
)

func (a *app) mcpCommand() *cobra.Command {
	var answerWithin time.Duration
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve an AI app (MCP over standard input and output)", Args: cobra.NoArgs,
		Long: "Serve an AI app over the Model Context Protocol on standard input and output. This is the command that AI apps start;\nthe daemon is started if none runs, and found again when it was replaced.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := slog.New(slog.NewTextHandler(a.err, nil))
			options := a.connection()
			options.Name = "forevervm mcp"
			options.Notice = func(sentence string) { log.Info(sentence) }
			c, err := connect.Lazy(options)
			if err != nil {
				return err
			}
			server := mcpserver.New(
				func(name, clientVersion string) mcpserver.Machines { return c.ForApp(name, clientVersion) },
				mcpserver.Options{Version: version.Version, AnswerWithin: answerWithin, Page: frontend.Dist, Logger: log},
			)
			defer server.Close()
			ctx, cancel := context.WithCancel(cmd.Context())
			// The client is answered at once; the daemon is there by the time that it is needed.
			var finding sync.WaitGroup
			defer finding.Wait()
			defer cancel()
			finding.Go(func() {
				if _, err := c.Endpoint(ctx); err != nil && ctx.Err() == nil {
					log.Error("the daemon cannot be reached", "err", err)
				}
			})
			err = server.ServeStdio(ctx, a.in, a.out)
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				err = nil // told to end
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&answerWithin, "answer-within", 0, "answer a call after so long even if its code still runs (default 45s)")
	return cmd
}
