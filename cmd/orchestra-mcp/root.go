package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/user"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
	"github.com/intentgov/orchestra-mcp/internal/nearest"
	"github.com/intentgov/orchestra-mcp/internal/printable"
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
	imageFile  string // which names, in an image of this program, the image
	os         string
	now        func() time.Time
}

func systemEnvironment() environment {
	return environment{
		lookup: os.LookupEnv, environ: os.Environ, workDir: os.Getwd, home: homeDir, executable: os.Executable, imageFile: clientsetup.ImageFile, os: runtime.GOOS, now: time.Now,
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
	*printer.Printer // of the answer
	environment
	in            io.Reader
	err           io.Writer
	inTerminal    bool
	workspaceFlag string
	json          bool // of the command that runs
}

func newApp(std streams, env environment) *app {
	return &app{
		Printer:     printer.New(std.out, std.outTerminal, printer.Environment{Lookup: env.lookup, Environ: env.environ, Errors: std.err}),
		environment: env, in: std.in, err: std.err, inTerminal: std.inTerminal,
	}
}

// execute runs the program and returns its exit code.
func execute(ctx context.Context, args []string, std streams, env environment) int {
	a := newApp(std, env)
	root := newRootCommand(a)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if err = a.outcome(err); err == nil {
		return exitDone
	}
	exit, ours := errors.AsType[*exitError](err)
	if !ours { // cobra's own errors are about the command line
		exit = usageErrorf("%w", err)
	}
	if message := exit.Error(); message != "" {
		fmt.Fprintf(std.err, "orchestra-mcp: %s\n", printer.Lines(message))
	}
	if exit.help {
		fmt.Fprintf(std.err, "Usage: %s\nRun %s --help for what there is.\n", command.UseLine(), command.CommandPath())
	}
	return exit.code
}

// outcome is the command's error in the light of what became of its answer. Whoever reads the answer may stop at any
// time: that is no failure.
func (a *app) outcome(err error) error {
	switch failure, gone := a.Failure(); {
	case failure == nil:
		return err
	case gone:
		return nil
	case err == nil || errors.Is(err, failure) || err.Error() == "":
		return &exitError{code: exitFailed, err: fmt.Errorf("write the answer: %w; what was printed is not all of it", failure)}
	}
	return err
}

// newRootCommand builds the command tree. A subcommand is a function of app in a file of its own.
func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "orchestra-mcp",
		Short: "Governance between AI agents and a workspace",
		Long: "orchestra-mcp is an MCP server whose file and command tools work only under an intent that you declared,\n" +
			"and keeps every change in a ledger.\n\n" +
			"Start with `orchestra-mcp init` in a project, then `orchestra-mcp setup` for your client.",
		Version:       buildinfo.Read().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	makeGroup(root)
	root.SetIn(a.in)
	root.SetOut(a)
	root.SetErr(a.err)
	root.PersistentFlags().StringVar(&a.workspaceFlag, "workspace", "",
		"the workspace `DIR` (default: the nearest directory upward that has .orchestration, else the current one)")
	_ = root.MarkPersistentFlagDirname("workspace")
	root.SetFlagErrorFunc(unknownFlag)
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Begin", []*cobra.Command{a.newInitCommand(), a.newSetupCommand(), a.newServeCommand(), a.newTrustCommand(), a.newDoctorCommand(), a.newDemoCommand()}},
		{"Say what agents may do", []*cobra.Command{a.newIntentsCommand(), a.newUseCommand(), a.newApprovalsCommand(), a.newServersCommand()}},
		{"See what happens and was done, and take it back", []*cobra.Command{
			a.newConsoleCommand(), a.newStatusCommand(), a.newLogCommand(), a.newShowCommand(), a.newBlameCommand(), a.newWhyCommand(), a.newStatsCommand(), a.newUndoCommand(), a.newStagedCommand(), a.newExportCommand(),
		}},
		{"Check", []*cobra.Command{a.newVerifyCommand(), a.newGateCommand(), a.newReplayCommand(), a.newAttestCommand(), a.newClassifyCommand()}},
		{"Keep the ledger", []*cobra.Command{a.newSealCommand(), a.newSyncCommand(), a.newLedgerCommand(), a.newGitCommand()}},
		{"More", []*cobra.Command{a.newHookCommand(), a.newExecCommand(), a.newSchemaCommand(), newManCommand(a), a.newVersionCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, command := range group.commands {
			command.GroupID = group.title
			root.AddCommand(command)
		}
	}
	root.SetHelpCommand(newHelpCommand(root))
	root.SetHelpCommandGroupID("More")
	root.SetCompletionCommandGroupID("More")
	return root
}

// makeGroup makes a command one that only has subcommands: alone it prints its help, and a word that is none of them
// is answered with the one that was probably meant.
func makeGroup(group *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	group.AddCommand(subcommands...)
	group.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		known := map[string]string{}
		for _, sub := range cmd.Commands() {
			if !sub.IsAvailableCommand() {
				continue
			}
			for _, name := range append([]string{sub.Name()}, sub.SuggestFor...) {
				known[name] = sub.Name()
			}
		}
		meant := known[nearest.Of(args[0], slices.Sorted(maps.Keys(known)))]
		return usageErrorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), didYouMean(meant))
	}
	group.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return group
}

// newHelpCommand is cobra's, but that it knows when it has nothing to say.
func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Say how a command is used",
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
			if cmd, _, err := root.Find(args); err == nil {
				for _, sub := range cmd.Commands() {
					if sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), typed) {
						names = append(names, sub.Name()+"\t"+sub.Short)
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			switch {
			case err != nil:
				return err
			case len(rest) > 0 && cmd.HasAvailableSubCommands():
				return cmd.Args(cmd, rest)
			case len(rest) > 0:
				return usageErrorf("%s has no subcommand %q", cmd.CommandPath(), rest[0])
			}
			return cmd.Help()
		},
	}
}

// unknownFlag adds to the parser's error what was probably meant.
func unknownFlag(cmd *cobra.Command, err error) error {
	unknown, is := errors.AsType[*pflag.NotExistError](err)
	if !is || len(unknown.GetSpecifiedName()) < 2 {
		return err
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	meant := nearest.Of(unknown.GetSpecifiedName(), known)
	if meant != "" {
		meant = "--" + meant
	}
	return usageErrorf("%w%s", err, didYouMean(meant))
}

// didYouMean is the end of a message about an unknown name; meant may be empty.
func didYouMean(meant string) string {
	if meant == "" {
		return ""
	}
	return "; did you mean " + printable.Text(meant) + "?"
}
