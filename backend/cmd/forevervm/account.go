package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/credentials"
)

// daemon returns a client of this computer's daemon, which alone has to do with the keyring.
func (a *app) daemon(ctx context.Context) (*client.Client, error) {
	if os.Getenv(connect.BaseURLVariable) != "" && a.home == "" {
		return nil, fmt.Errorf("%s and %s say which server is used and who you are: unset them to log in or out", connect.BaseURLVariable, connect.TokenVariable)
	}
	return a.connect(ctx)
}

func (a *app) signupCommand() *cobra.Command {
	var server, email, account string
	cmd := &cobra.Command{
		Use: "signup", Short: "Create an account of the hosted service; its token comes by e-mail", Args: cobra.NoArgs,
		Long: "Create an account of the hosted service; its token comes by e-mail. Machines on this computer need no account.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.daemon(cmd.Context())
			if err != nil {
				return err
			}
			now, err := c.Hosted(cmd.Context())
			if err != nil {
				return err
			}
			if now.SignedIn {
				return a.print(now, func(w io.Writer) { fmt.Fprintln(w, "Already logged in") })
			}
			if email == "" || account == "" {
				fmt.Fprint(a.err, "Enter your email and an account name below, and we'll send you a ForeverVM API token!\n\n")
			}
			lines := bufio.NewReader(a.in)
			const anybody, nobody = "ada@example.com", "ada" // right ones, so that each is checked on its own
			if email, err = a.answer(lines, email, "Enter your email: ", func(text string) error { return credentials.CheckSignup(text, nobody) }); err != nil {
				return err
			}
			if account, err = a.answer(lines, account, "Give your account a name: ", func(text string) error { return credentials.CheckSignup(anybody, text) }); err != nil {
				return err
			}
			if err := c.SignUp(cmd.Context(), api.HostedSignup{Server: server, Email: email, Account: account}); err != nil {
				return err
			}
			return a.print(struct {
				Email   string `json:"email"`
				Account string `json:"account"`
			}{email, account}, func(w io.Writer) { fmt.Fprintln(w, "\nSuccess! Check your email for your API token!") })
		},
	}
	cmd.Flags().StringVar(&server, "api-base-url", credentials.DefaultServer, "the service")
	cmd.Flags().StringVar(&email, "email", "", "your e-mail address, in place of being asked for it")
	cmd.Flags().StringVar(&account, "account-name", "", "the account's name, in place of being asked for it")
	return cmd
}

// answer is what was given already, or what the person types. At a terminal they are asked again
// until it fits.
func (a *app) answer(lines *bufio.Reader, given, question string, check func(string) error) (string, error) {
	for text := strings.TrimSpace(given); ; {
		if text == "" {
			fmt.Fprint(a.err, question)
			line, err := lines.ReadString('\n')
			if err != nil && line == "" {
				return "", errors.New("there is nobody to ask: give --email and --account-name")
			}
			text = strings.TrimSpace(line)
		}
		err := check(text)
		if err == nil {
			return text, nil
		}
		if given != "" || !isTerminal(a.in) {
			return "", err
		}
		fmt.Fprintln(a.err, err)
		text = ""
	}
}

func (a *app) loginCommand() *cobra.Command {
	var server string
	var official bool
	cmd := &cobra.Command{
		Use: "login", Short: "Use machines of the hosted service beside those on this computer", Args: cobra.NoArgs,
		Long: "Use machines of the hosted service with those on this computer. The token is asked for, or read from standard input, and is kept in the\n" +
			"operating system's keyring. On a server without one, set FOREVERVM_TOKEN where the daemon is started.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			c, err := a.daemon(ctx)
			if err != nil {
				return err
			}
			now, err := c.Hosted(ctx)
			if err != nil {
				return err
			}
			address, err := credentials.Server(server)
			if err != nil {
				return err
			}
			switch {
			case now.SignedIn && now.Server == address && now.Problem == "" && !official:
				return a.print(now, func(w io.Writer) { fmt.Fprintln(w, "Already logged in as", printable(now.Account)) })
			case now.SignedIn && now.Server == address && now.Problem != "":
				fmt.Fprintln(a.err, "There is an existing token, but it gives an error:", now.Problem)
			case now.SignedIn && now.Server != address:
				fmt.Fprintln(a.err, "There is an existing token for another server. It is kept, but this one is used.")
			}
			in := api.HostedLogin{Server: address, Official: official}
			if !official && now.Official != nil && now.Official.Server == address && a.atTerminal() {
				in.Official = a.agrees("The official command line keeps a token (%s) in %s, where every program can read it. Log in with it?", now.Official.Token, now.Official.Path)
			}
			if !in.Official {
				secret, err := a.readToken()
				if err != nil {
					return err
				}
				in.Token = secret.Reveal()
			}
			after, err := c.SignIn(ctx, in)
			if err != nil {
				return err
			}
			if err := a.print(after, func(w io.Writer) { fmt.Fprintln(w, "Logged in as", printable(after.Account)) }); err != nil {
				return err
			}
			if in.Official && now.Official != nil {
				return a.offerRemoval(ctx, c, now.Official.Path)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&server, "api-base-url", credentials.DefaultServer, "the service")
	cmd.Flags().BoolVar(&official, "import", false, "take the token that the official command line keeps")
	return cmd
}

// offerRemoval removes the official command line's file if the person agrees.
func (a *app) offerRemoval(ctx context.Context, c *client.Client, path string) error {
	if !a.atTerminal() || !a.agrees("The token is in the keyring now. Delete %s, which holds it for every program to read?", path) {
		fmt.Fprintf(a.err, "%s still holds the token for every program to read. Delete it when you no longer use the official command line.\n", path)
		return nil
	}
	return c.RemoveOfficial(ctx)
}

// readToken asks for the token without showing it, or reads a line of standard input.
func (a *app) readToken() (credentials.Secret, error) {
	line, err := a.readHidden("Enter your token: ")
	if err != nil {
		return credentials.Secret{}, err
	}
	return credentials.Parse(line)
}

// readHidden asks for a line without showing what is typed, or reads one of standard input.
func (a *app) readHidden(prompt string) (string, error) {
	const most = 9 << 10
	if !isTerminal(a.in) {
		line, err := bufio.NewReader(io.LimitReader(a.in, most)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	fmt.Fprint(a.err, prompt)
	typed, err := term.ReadPassword(int(a.in.(*os.File).Fd()))
	fmt.Fprintln(a.err)
	return string(typed), err
}

func (a *app) logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use: "logout", Short: "Remove the hosted service's token from this computer", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.daemon(cmd.Context())
			if err != nil {
				return err
			}
			now, err := c.Hosted(cmd.Context())
			if err != nil {
				return err
			}
			if !now.SignedIn && now.Problem == "" {
				return a.print(now, func(w io.Writer) { fmt.Fprintln(w, "Not currently logged in") })
			}
			after, err := c.SignOut(cmd.Context())
			if err != nil {
				return err
			}
			return a.print(after, func(w io.Writer) { fmt.Fprintln(w, "Successfully logged out") })
		},
	}
}

func (a *app) whoamiCommand() *cobra.Command {
	return &cobra.Command{
		Use: "whoami", Short: "Show which account of the hosted service is used", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			if os.Getenv(connect.BaseURLVariable) != "" && a.home == "" {
				who, err := c.Wire().Whoami(ctx)
				if err != nil {
					return err
				}
				at, err := c.Endpoint(ctx)
				if err != nil {
					return err
				}
				return a.printAccount(at.URL, who.Account)
			}
			now, err := c.Hosted(ctx)
			switch {
			case err != nil:
				return err
			case now.Problem != "":
				return errors.New(now.Problem)
			case !now.SignedIn:
				return errors.New("not logged in; `forevervm login` logs in at the hosted service. Machines on this computer need no account")
			}
			return a.printAccount(now.Server, now.Account)
		},
	}
}

func (a *app) printAccount(server, account string) error {
	return a.print(struct {
		Account string `json:"account"`
		Server  string `json:"server"`
	}{account, server}, func(w io.Writer) { fmt.Fprintf(w, "Logged in to %s as %s\n", server, printable(account)) })
}
