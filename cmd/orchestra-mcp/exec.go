package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/hookdoor"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/native"
)

// exitRefused is the shell's own code for what it cannot run.
const exitRefused = 126

// newExecCommand runs what a hook has let through.
func (a *app) newExecCommand() *cobra.Command {
	lastDir := false
	cmd := &cobra.Command{
		Use:   "exec ID -- LINE",
		Short: "Run a command that the hook of a client has let through",
		Long: `Runs a line in the sandbox of its intent, once. The hook writes such lines in the place of those of the client's agent;
an id that it did not make runs nothing. Exit codes are the command's own.`,
		Args:        cobra.RangeArgs(1, 2),
		Annotations: map[string]string{withoutJSON: "it prints what the command prints"},

		ValidArgsFunction: cobra.NoFileCompletions, // nobody types it
	}
	cmd.Flags().BoolVar(&lastDir, "last-dir", false, "print the directory that the command has ended in")
	_ = cmd.Flags().MarkHidden("last-dir")
	cmd.RunE = coded(interruptible(func(ctx context.Context, args []string) error {
		if a.governed() {
			return &exitError{code: exitRefused, err: errors.New("a governed command cannot run what the hook of a client has let through")}
		}
		dir, err := a.workspaceDir()
		if err == nil && lastDir {
			return a.printLastDir(args[0])
		}
		if err == nil && len(args) < 2 {
			return usageErrorf("exec: the line is missing")
		}
		if err != nil {
			return err
		}
		return a.exec(ctx, dir, args[0], args[1])
	}))
	return cmd
}

// exec claims a job and runs it.
func (a *app) exec(ctx context.Context, workspace, id, line string) error {
	here, err := a.currentDir()
	if err != nil {
		return err
	}
	job, lock, err := native.ClaimJob(workspace, id, line, here, a.now())
	if err != nil {
		return &exitError{code: exitRefused, err: err}
	}
	defer lock.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, err := a.begins(workspace, id, cancel)
	if err != nil {
		return &exitError{code: exitRefused, err: err}
	}
	code, err := a.runJob(ctx, workspace, id, job)
	if conn != nil {
		_ = conn.Tell(hookdoor.Request{Op: "ended", Job: id, ExitCode: &code, Level: string(job.Level)})
		conn.Close()
	} else {
		_ = native.LeaveEnding(workspace, id, native.Ending{ExitCode: code, Level: job.Level})
	}
	if err != nil {
		return &exitError{code: exitRefused, err: err}
	}
	if code != 0 {
		return &exitError{code: code}
	}
	return nil
}

// begins tells the server, where it can be reached: it may say no, and hangs up when the command has to end. A client's own
// sandbox can keep it from us; then the next event of the client settles the record.
func (a *app) begins(workspace, id string, cancel func()) (*hookdoor.Caller, error) {
	real, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return nil, err
	}
	conn, err := hookdoor.Find(os.Getenv).Dial(real)
	if err != nil {
		return nil, nil
	}
	reply, err := conn.Ask(hookdoor.Request{Op: "begins", Job: id})
	if err != nil || !reply.OK {
		conn.Close()
		return nil, native.ErrJob
	}
	go func() {
		var one [1]byte
		_, _ = conn.Read(one[:]) // nothing comes; the end does
		cancel()
	}()
	return conn, nil
}

// runJob runs the line as it was judged.
func (a *app) runJob(ctx context.Context, workspace, id string, job *native.Job) (int, error) {
	runner, err := command.NewRunner(command.Options{MaxProcesses: job.MaxProcesses, AdoptOrphans: true})
	if err != nil {
		return exitRefused, err
	}
	at, err := os.OpenRoot(job.Dir)
	if err != nil {
		return exitRefused, err
	}
	defer at.Close()
	dir, err := at.Open(".")
	if err != nil {
		return exitRefused, err
	}
	defer dir.Close()
	spec := command.Spec{
		Command: job.Line, Dir: dir, Level: job.Level, Profile: job.Profile, Timeout: command.MaxJobTime,
		Env: profile.Overlay(command.FilterEnv(a.environ(), job.KeepEnv...), job.Env),
	}
	if job.Tells {
		last, err := os.CreateTemp(tempOf(job), "last-dir-*")
		if err != nil {
			return exitRefused, err
		}
		last.Close()
		defer a.keepLastDir(workspace, id, last.Name())
		spec.Command = fmt.Sprintf("eval %s\norchestra_status=$?\npwd -P >| %s 2>/dev/null\nexit $orchestra_status", shellword.Quote(job.Line), shellword.Quote(last.Name()))
	}
	var result command.Result
	err = withStreams(func(t *command.Through) (err error) {
		spec.Through = t
		result, err = runner.Run(ctx, spec)
		if errors.Is(err, sandbox.ErrUnavailable) && job.Weaker != nil {
			a.warn("the sandbox is at the level landlock here, for the client runs this command in one of its own that lets no more be made")
			job.Level, job.Profile = sandbox.Landlock, job.Weaker
			spec.Level, spec.Profile, spec.Env = job.Level, job.Profile, profile.Overlay(spec.Env, profile.TempVariables(job.Weaker.Temp))
			result, err = runner.Run(ctx, spec)
		}
		return err
	})
	switch {
	case errors.Is(err, sandbox.ErrUnavailable):
		return exitRefused, fmt.Errorf("the sandbox that this command was judged for is not to be had here, perhaps because the client runs it in one of its own; nothing was run (%w)", err)
	case err != nil:
		return exitRefused, err
	}
	if result.Left {
		a.warn("what the line left running (&) has ended with it; to keep it, have the client itself run the command in the background")
	}
	return result.ExitCode, nil
}

// tempOf is a directory that the command can write.
func tempOf(job *native.Job) string {
	if job.Profile != nil && job.Profile.Temp != "" {
		return job.Profile.Temp
	}
	return os.TempDir()
}

// lastDirFile is where the directory of a command that has ended waits for its shell, in the user's runtime directory: there no
// command in a sandbox can write.
func lastDirFile(id string) string {
	return filepath.Join(hookdoor.Find(os.Getenv).Dir(), "dir-"+filepath.Base(id))
}

// maxDir bounds the name of a directory, in bytes.
const maxDir = 64 << 10

// keepLastDir takes over what the command says, if it is a directory of the workspace.
func (a *app) keepLastDir(workspace, id, from string) {
	said, err := durable.ReadRegular(from, maxDir)
	_ = os.Remove(from)
	dir := strings.TrimSuffix(string(said), "\n")
	root, rootErr := filepath.EvalSymlinks(workspace)
	if err != nil || rootErr != nil || !filepath.IsAbs(dir) || strings.ContainsAny(dir, "\n\x00") {
		return
	}
	real, err := filepath.EvalSymlinks(dir)
	rel, relErr := filepath.Rel(root, real)
	if err != nil || relErr != nil || rel != "." && !filepath.IsLocal(rel) {
		return
	}
	_ = os.WriteFile(lastDirFile(id), []byte(real), 0o600)
}

// printLastDir prints it, once. Without one it is the present one.
func (a *app) printLastDir(id string) error {
	dir, err := durable.ReadRegular(lastDirFile(id), maxDir)
	if errors.Is(err, fs.ErrNotExist) {
		dir = []byte(".")
	} else if err != nil {
		return err
	}
	_ = os.Remove(lastDirFile(id))
	fmt.Fprintln(os.Stdout, string(dir))
	return nil
}
