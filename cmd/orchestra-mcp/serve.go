package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/internal/hookdoor"
	"github.com/intentgov/orchestra-mcp/internal/ownpages"
	"github.com/intentgov/orchestra-mcp/internal/privatefile"
	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/telemetry"
)

// serveFlags are the flags of serve that are settings, by their key.
func serveFlags() map[string]string {
	return map[string]string{
		"transport":     "transport",
		"listen":        "http.listen",
		"insecure":      "http.insecure",
		"tls-cert":      "http.tls_cert",
		"tls-key":       "http.tls_key",
		"uninitialized": "uninitialized",
		"log-level":     "log.level",
	}
}

func (a *app) newServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the MCP server",
		Long: `Run the MCP server for a client. On standard input and output, which is the default, the client starts it
(orchestra-mcp setup writes its configuration). Over HTTP it listens at /mcp, on the loopback address unless
told otherwise, and wants the bearer token that it prints on standard error, the same at each start.`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{withoutJSON: "it speaks a protocol"},
	}
	flags := cmd.Flags()
	flags.StringP("transport", "t", "", "`stdio`, http, or sse (http with the older transport beside it)")
	flags.String("listen", "", "`ADDR` for http, such as 127.0.0.1:7420")
	flags.Bool("insecure", false, "listen beyond the loopback address without TLS")
	flags.String("tls-cert", "", "certificate `FILE` for http")
	flags.String("tls-key", "", "key `FILE` for http")
	flags.String("uninitialized", "", "`refuse` or allow changes in a workspace without intents")
	flags.String("log-level", "", "`warn`, debug, info or error")
	forHooks := flags.Bool("for-hooks", false, "answer the hooks of clients alone, and end when none has come for a while")
	_ = flags.MarkHidden("for-hooks") // a hook starts it
	completeFlag(cmd, "transport", "stdio", "http", "sse")
	completeFlag(cmd, "uninitialized", "refuse", "allow")
	completeFlag(cmd, "log-level", "debug", "info", "warn", "error")
	cmd.RunE = coded(interruptible(func(ctx context.Context, _ []string) error { return a.serve(ctx, cmd, *forHooks) }))
	return cmd
}

func (a *app) serve(ctx context.Context, cmd *cobra.Command, forHooks bool) error {
	dir, err := a.servedDir()
	if err != nil {
		return err
	}
	given := make(map[string]string)
	for flag, key := range serveFlags() {
		if cmd.Flags().Changed(flag) {
			given[key] = cmd.Flags().Lookup(flag).Value.String()
		}
	}
	loaded, err := a.loadSettings(dir, given)
	if err != nil {
		return err
	}
	log := a.logger(loaded.Settings.Log.Level)
	a.reportSettings(log, loaded)
	if home, err := a.home(); err == nil {
		if err := scaffold.CheckPlace(dir, home); err != nil {
			log.Warn().Msg(err.Error() + "; use a project's own directory as the workspace")
		}
	}
	options := server.Options{
		Dir: dir, Settings: loaded.Settings, Version: buildinfo.Read().Version, Logger: log, AdoptOrphans: true,
		Trusted: a.trusts(dir), Withheld: loaded.Waiting(), Hooks: func() (*hookdoor.Listener, error) { return hookListener(dir) },
		Chosen: a.chosenIn(dir, func(err error) { log.Warn().Err(err).Msg("what was chosen does not count") }),
	}
	if loaded.Settings.Transport == settings.TransportStdio {
		options.ModelOf = a.modelOf
	}
	if loaded.Settings.Telemetry.Endpoint != "" || loaded.Settings.Transport != settings.TransportStdio {
		telemetry.TakeErrors(log)
	}
	srv, err := server.New(options)
	if err != nil {
		return fmt.Errorf("open the workspace %s: %w", dir, err)
	}
	// A client that is killed leaves broken pipes. To write to one has to fail: by default it would kill the server, with
	// calls in flight and commands that nobody ends.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	defer time.AfterFunc(startTime, settle).Stop()
	if forHooks {
		return errors.Join(serveHooks(ctx, srv, dir), srv.Close())
	}
	return errors.Join(a.serveOn(ctx, srv, dir, loaded.Settings), srv.Close())
}

// startTime is after what a start is about: to answer a client's first requests.
const startTime = time.Second

// idleGC is the garbage, in percent of what is in use, behind which a server collects it. There are many servers, one for
// each client and workspace, which do nothing most of the time and have about a MiB in use: by Go's own 100, from 4 MiB on,
// most of what one holds is garbage. A start is over before it has made much.
const idleGC = 50

// settle gives back what a start has taken.
func settle() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(idleGC)
	}
	ownpages.GiveBack()
}

func hookListener(dir string) (*hookdoor.Listener, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	return hookdoor.Find(os.Getenv).Listen(real)
}

// serveHooks is done at once where another server answers already.
func serveHooks(ctx context.Context, srv *server.Server, dir string) error {
	listener, err := hookListener(dir)
	if errors.Is(err, hookdoor.ErrTaken) {
		return nil
	}
	if err != nil {
		return err
	}
	return srv.ServeHooks(ctx, listener, hookServerIdle)
}

func (a *app) serveOn(ctx context.Context, srv *server.Server, dir string, s settings.Settings) error {
	if s.Transport == settings.TransportStdio {
		if a.inTerminal {
			a.warn("this is a server that speaks MCP on its standard input and output, and it waits for a client." +
				"A client starts it by itself: orchestra-mcp setup CLIENT writes that into the client's configuration.\n" +
				"Press Ctrl-C to end it.")
		}
		return srv.ServeStdio(ctx, a.in, a)
	}
	listener, names, err := listen(ctx, s.HTTP)
	if err != nil {
		return err
	}
	defer listener.Close()
	base := baseURL(s.HTTP, listener.Addr(), names)
	resource, err := resourceURL(s, listener.Addr(), base)
	if err != nil {
		return err
	}
	token, err := a.bearerToken(dir, s)
	if err != nil {
		return err
	}
	a.tellOfTokens(s, resource)
	a.tell("listening on %s/mcp", base)
	if s.Transport == settings.TransportSSE {
		a.tell("for older clients, with server-sent events: %s/sse", base)
	}
	return srv.ServeHTTP(ctx, listener, server.HTTPOptions{Token: token, Resource: resource, SSE: s.Transport == settings.TransportSSE, Names: names})
}

// resourceURL is whom access tokens have to be for. What only this machine reaches has one address; clients of SSE take
// none that is not above theirs.
func resourceURL(s settings.Settings, at net.Addr, base string) (string, error) {
	switch address, ok := at.(*net.TCPAddr); {
	case s.Auth.Resource != "" || s.Auth.Issuer == "":
		return s.Auth.Resource, nil
	case !ok || !address.IP.IsLoopback():
		return "", usageErrorf("auth.issuer needs auth.resource, the address of /mcp by which other machines know this server, such as https://mcp.example.com/mcp")
	case s.Transport == settings.TransportSSE:
		return base, nil
	}
	return base + "/mcp", nil
}

// tellOfTokens says who is let in beside, or in place of, whom bearerToken speaks of.
func (a *app) tellOfTokens(s settings.Settings, resource string) {
	var names []string
	for _, t := range s.Auth.Tokens {
		if t.Auth().Expired(time.Now()) {
			t.Name += " (expired)"
		}
		names = append(names, t.Name)
	}
	if len(names) > 0 {
		a.tell("tokens of auth.tokens are taken: %s", strings.Join(names, ", "))
	}
	if s.Auth.Issuer != "" {
		a.tell("access tokens of %s for %s are taken", s.Auth.Issuer, resource)
	}
}

// listen refuses to put an unencrypted server where other machines reach it. The names are those by which clients may
// call it: the one that it listens at, and those of its certificate.
func listen(ctx context.Context, s settings.HTTP) (_ net.Listener, names []string, _ error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Listen)
	if err != nil {
		return nil, nil, fmt.Errorf("listen on %s: %w; choose another address with --listen", s.Listen, err)
	}
	if host, _, err := net.SplitHostPort(s.Listen); err == nil && host != "" && net.ParseIP(host) == nil {
		names = append(names, host)
	}
	if s.TLSCert != "" || s.TLSKey != "" {
		pair, err := tls.LoadX509KeyPair(s.TLSCert, s.TLSKey)
		if err != nil {
			listener.Close()
			return nil, nil, fmt.Errorf("read the TLS certificate: %w", err)
		}
		names = append(names, pair.Leaf.DNSNames...)
		return tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}), names, nil
	}
	if address, ok := listener.Addr().(*net.TCPAddr); ok && !address.IP.IsLoopback() && !s.Insecure {
		listener.Close()
		return nil, nil, usageErrorf("%s can be reached from other machines, and the token would cross the network unencrypted: "+
			"give --tls-cert and --tls-key, listen on 127.0.0.1, or say --insecure", s.Listen)
	}
	return listener, names, nil
}

// baseURL is how a client on this machine calls the server: an address that stands for all of them is none to connect to.
func baseURL(s settings.HTTP, at net.Addr, names []string) string {
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return scheme(s) + "://" + at.String()
	}
	switch ip := net.ParseIP(host); {
	case len(names) > 0 && !strings.HasPrefix(names[0], "*"):
		host = names[0]
	case ip.IsUnspecified():
		host = "localhost"
	}
	return scheme(s) + "://" + net.JoinHostPort(host, port)
}

func scheme(s settings.HTTP) string {
	if s.TLSCert != "" {
		return "https"
	}
	return "http"
}

// logger writes to standard error: standard output belongs to the protocol.
func (a *app) logger(level settings.Choice) zerolog.Logger {
	parsed, err := zerolog.ParseLevel(string(level))
	if err != nil {
		parsed = zerolog.WarnLevel
	}
	return zerolog.New(a.err).Level(parsed).With().Timestamp().Logger()
}

// reportSettings says what did not take effect: an operator who trusts a file has to know when it does not count.
func (a *app) reportSettings(log zerolog.Logger, loaded settings.Loaded) {
	for _, w := range loaded.Warnings {
		log.Warn().Msg(w)
	}
	for _, w := range loaded.Withheld {
		text := "a setting of the workspace is not applied"
		if w.NeedsTrust {
			text += " until you have looked at it: orchestra-mcp trust"
		}
		log.Warn().Str("key", w.Key).Str("reason", w.Reason).Msg(text)
	}
}

const (
	// tokenFile is in the user's directory: what a client's configuration holds has to be good at the next start too.
	tokenFile = "token"
	// minToken is what auth.token needs too, in characters.
	minToken = 16
)

// bearerToken is what clients have to show, made now if there is none. It is shown, unless the operator chose it. Who has
// said which tokens are good gets no further one that is good for everything.
func (a *app) bearerToken(workspace string, s settings.Settings) (string, error) {
	if s.Auth.Token != "" || len(s.Auth.Tokens) > 0 || s.Auth.Issuer != "" {
		return s.Auth.Token, nil
	}
	name, err := a.tokenFile(workspace)
	if err == nil {
		err = keepToken(name)
	}
	if err != nil {
		token := rand.Text()
		a.tell("bearer token: %s\nit is of this start alone, for it cannot be kept (%v); set auth.token in your settings for one that stays", token, err)
		return token, nil
	}
	token, err := keptToken(name)
	if err != nil {
		return "", fmt.Errorf("read the bearer token for HTTP: %w", err)
	}
	a.tell("bearer token: %s\nit is kept in %s; clients send it as the header Authorization: Bearer TOKEN", token, name)
	return token, nil
}

// tokenFile is a place out of the reach of agents.
func (a *app) tokenFile(workspace string) (string, error) {
	dir := settings.UserDir(a.environ())
	if dir == "" {
		return "", errors.New("there is no directory for your own settings: HOME and XDG_CONFIG_HOME are not set")
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if outside(root, dir) != nil {
		return "", fmt.Errorf("your configuration directory %s is inside the workspace", dir)
	}
	return filepath.Join(dir, tokenFile), nil
}

func keepToken(name string) error {
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return privatefile.Create(name, rand.Text()+"\n")
}

func keptToken(name string) (string, error) {
	content, err := privatefile.ReadPrivate(name)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(content))
	if len(token) < minToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s holds no token, which has %d characters or more and no space; remove it to have one made", name, minToken)
	}
	return token, nil
}
