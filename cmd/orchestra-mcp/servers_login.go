package main

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/mcpclient/login"
	"github.com/intentgov/orchestra-mcp/pkg/survey"
)

// loginTime is how long the user may take in the browser.
const loginTime = 10 * time.Minute

// loginCommand has the flag of servers login.
type loginCommand struct {
	*app
	id string
}

func (a *app) newServersLoginCommand() *cobra.Command {
	c := loginCommand{app: a}
	cmd := &cobra.Command{
		Use:   "login NAME",
		Short: "Log in to a server that is reached by an address, and keep its tokens",
		Long: `Opens the page on which you let this program use the server, by OAuth, and keeps the tokens in a file of yours alone.
They are sent to this server and to nobody else; without the file, which is named at the end, they are forgotten. A
server that wants a fixed key needs no login: write the header into its file of secrets.`,
		Example:           "  orchestra-mcp servers login github",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeServer,
		Annotations:       map[string]string{withoutJSON: "a person answers in a browser"},
		RunE:              coded(a.operator(interruptible(c.run))),
	}
	cmd.Flags().StringVar(&c.id, "client-id", "", "the `ID` of a client that you have registered with the server beforehand, where it takes no others; asks for its secret")
	return cmd
}

func (c *loginCommand) run(ctx context.Context, args []string) error {
	_, _, servers, err := c.servers()
	if err != nil {
		return err
	}
	s, err := c.server(args[0], servers)
	if err != nil {
		return err
	}
	switch {
	case !s.HTTP():
		return mistakef("the server %s is a program (%s), to which nobody logs in: its secrets are in %s", s.Name, s.Reached(), s.Files.Secrets)
	case s.Waits:
		return mistakef("the settings of the workspace that declare the server %s wait for your trust first: orchestra-mcp trust", s.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	if err := c.login(ctx, s); err != nil {
		return err
	}
	c.Println(c.Green("Logged in to " + s.Name + "."))
	c.Printf("Its tokens are in %s. A running server uses them at its next call.\n", s.Files.Login)
	return nil
}

func (c *loginCommand) login(ctx context.Context, s *survey.Server) error {
	secret := ""
	if c.id != "" && c.inTerminal {
		secret = c.newQuestions().line("The client's secret (empty if it has none)", "", nil)
	}
	err := login.Login(ctx, login.Options{
		Server: s.URL, File: s.Files.Login, Name: "orchestra-mcp", ClientID: c.id, ClientSecret: secret,
		Show: func(address string) error {
			c.tell("Open this in your browser, and let orchestra-mcp use %s:\n%s", s.Name, address)
			c.openAddress(ctx, address)
			return nil
		},
	})
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return foundf("nobody has answered in the browser within %s: nothing was kept", loginTime)
	}
	return err
}

// openAddress has the desktop open a page, where there is one and a person sits before it. That it was told of is enough.
func (a *app) openAddress(ctx context.Context, address string) {
	opener := a.desktopOpener()
	if !a.inTerminal || opener == nil || !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") {
		return
	}
	open := exec.CommandContext(ctx, opener[0], append(opener[1:], address)...)
	if open.Start() == nil {
		go func() { _ = open.Wait() }()
	}
}
