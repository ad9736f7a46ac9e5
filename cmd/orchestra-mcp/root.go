package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"runtime"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/buildinfo"
)

// streams are where a command reads and writes. Only a terminal is asked questions and given colour.
type streams struct {
	in                      io.Reader
	out, err                io.Writer
	inTerminal, outTerminal bool
}

func systemStreams() streams {
	return streams{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		inTerminal: isatty.IsTerminal(os.Stdin.Fd()), outTerminal: isatty.IsTerminal(os.Stdout.Fd()),
	}
}

// environment is what a command knows of the machine it runs on.
type environment struct {
	lookup     func(string) (string, bool)
	environ    func() []string
	workDir    func() (string, error)
	home       func() (string, error)
	executable func() (string, error)
	os         string
	now        func() time.Time
}

func systemEnvironment() environment {
	return environment{
		lookup: os.LookupEnv, environ: os.Environ, workDir: os.Getwd, home: homeDir, executable: os.Executable, os: runtime.GOOS, now: time.Now,
	}
}

// homeDir is the user's home; without HOME, as under some service managers, it is what the system knows of the user.
func homeDir() (string, error) {
	home, err := os.UserHomeDir()
	if err == nil {
		return home, nil
	}
	if me, lookupErr := user.Current(); lookupErr == nil && me.HomeDir != "" {
		return me.HomeDir, nil
	}
	return "", err
}

// app is what all subcommands share.
type app struct {
	streams
	environment
	workspaceFlag string
}

// execute runs the program and returns its exit code.
func execute(ctx context.Context, args []string, std streams, env environment) int {
	answer := &answerWriter{out: std.out}
	std.out = answer
	root := newRootCommand(std, env)
	root.SetArgs(args)
	err := answer.outcome(root.ExecuteContext(ctx))
	if err == nil {
		return exitDone
	}
	var exit *exitError
	if !errors.As(err, &exit) { // cobra's own errors are about the command line
		exit = usageErrorf("%w", err)
	}
	if message := exit.Error(); message != "" {
		fmt.Fprintf(std.err, "orchestra-mcp: %s\n", printableLines(message))
	}
	if exit.code == exitUsage {
		fmt.Fprintln(std.err, "Run orchestra-mcp --help, or --help behind a subcommand, for what there is.")
	}
	return exit.code
}

// newRootCommand builds the command tree. A subcommand is a function of app in a file of its own.
func newRootCommand(std streams, env environment) *cobra.Command {
	a := &app{streams: std, environment: env}
	root := &cobra.Command{
		Use:   "orchestra-mcp",
		Short: "Governance between AI agents and a workspace",
		Long: "orchestra-mcp is an MCP server whose file and command tools work only under an intent that you declared,\n" +
			"and keeps every change in a ledger.\n\n" +
			"Start with `orchestra-mcp init` in a project, then `orchestra-mcp setup` for your client.",
		Version:       buildinfo.Read().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          a.run(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.PersistentFlags().StringVar(&a.workspaceFlag, "workspace", "",
		"the workspace `DIR` (default: the nearest directory upward that has .orchestration, else the current one)")
	_ = root.MarkPersistentFlagDirname("workspace")
	root.AddCommand(
		a.newInitCommand(),
		a.newSetupCommand(),
		a.newIntentsCommand(),
		a.newTrustCommand(),
		a.newDoctorCommand(),
		a.newServeCommand(),
		a.newLogCommand(),
		a.newShowCommand(),
		a.newStatsCommand(),
		a.newExportCommand(),
		a.newVerifyCommand(),
		a.newGateCommand(),
		a.newClassifyCommand(),
		a.newSealCommand(),
		a.newLedgerCommand(),
		a.newGitCommand(),
		a.newBlameCommand(),
		a.newWhyCommand(),
		a.newUndoCommand(),
		a.newApprovalsCommand(),
		a.newSchemaCommand(),
		a.newDemoCommand(),
		a.newVersionCommand(),
		a.newClientGuardCommand(),
	)
	return root
}
