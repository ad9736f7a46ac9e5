package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/clienthook"
	"github.com/intentgov/orchestra-mcp/internal/hookdoor"
)

const (
	// maxEvent bounds an event, in bytes.
	maxEvent = 16 << 20
	// hookMargin is how long before the client's own limit the hook answers by itself.
	hookMargin = 3 * time.Second
	// hookServerIdle is how long a server that a hook has started waits for the next one.
	hookServerIdle = 30 * time.Minute
)

// newHookCommand answers the hooks that setup writes.
func (a *app) newHookCommand() *cobra.Command {
	var names []string
	for _, c := range clienthook.Clients() {
		names = append(names, string(c))
	}
	return &cobra.Command{
		Use:   "hook CLIENT",
		Short: "Answer a client's question about a call of its own tools",
		Long: `Reads an event of a client's hook on standard input, and answers in the client's form. setup writes it into the client's
configuration; nobody types it. The call is judged by the server of the workspace, which is started if none runs.`,
		ValidArgs:   names,
		Args:        cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		Annotations: map[string]string{withoutJSON: "it speaks the client's own protocol"},
		RunE: coded(func(ctx context.Context, args []string) error {
			client := clienthook.Client(args[0])
			limit := time.Duration(client.Abilities("").LimitSeconds)*time.Second - hookMargin
			return (&hookRun{app: a, client: client, limit: limit}).run(ctx)
		}),
	}
}

// hookRun is one event.
type hookRun struct {
	*app
	client clienthook.Client
	limit  time.Duration // after which it answers by itself
	once   sync.Once
	code   int
	done   chan struct{}
}

// run answers before the client gives up, whatever happens: where nothing is known, with no.
func (h *hookRun) run(ctx context.Context) error {
	h.done = make(chan struct{})
	watchdog := time.AfterFunc(h.limit, func() {
		h.deny(clienthook.Event{Client: h.client, Phase: clienthook.Before}, errors.New("the server of the workspace has not answered in time"))
	})
	defer watchdog.Stop()
	go h.answer(ctx)
	<-h.done
	if h.code != 0 {
		return &exitError{code: h.code}
	}
	return nil
}

// print writes the answer, once, in one piece: half of one could be taken for yes.
func (h *hookRun) print(out clienthook.Output) {
	h.once.Do(func() {
		h.code = out.ExitCode
		_, err := h.err.Write(out.Stderr)
		if len(out.Stdout) > 0 && err == nil {
			_, err = h.Write(out.Stdout)
		}
		if err != nil {
			h.code = exitUsage // which denies
		}
		close(h.done)
	})
}

// deny is the answer where no server could say more.
func (h *hookRun) deny(e clienthook.Event, err error) {
	h.print(clienthook.Emit(e, clienthook.Answer{Verdict: clienthook.Deny, Reason: fmt.Sprintf("orchestra-mcp: %v. "+
		"The call is not let through. Ask the user to run `orchestra-mcp doctor` in the workspace.", err)}))
}

func (h *hookRun) answer(ctx context.Context) {
	raw, err := io.ReadAll(io.LimitReader(h.in, maxEvent+1))
	request := hookdoor.Request{Op: "event", Client: string(h.client), Event: raw, Terminal: terminalOf(), Attended: h.attended()}
	e, unreadable := clienthook.Parse(h.client, raw)
	switch {
	case err != nil:
		unreadable = fmt.Errorf("it cannot be read: %w", err)
	case len(raw) > maxEvent:
		unreadable = fmt.Errorf("it is larger than %d bytes", maxEvent)
	}
	if err != nil || len(raw) > maxEvent {
		e = clienthook.Event{Client: h.client, Phase: clienthook.Before}
		request.Event, request.Problem = nil, unreadable.Error()
	}
	if _, own := e.Action.(clienthook.Governed); own && unreadable == nil && e.Phase == clienthook.Before {
		h.print(clienthook.Emit(e, clienthook.Answer{})) // a tool of ours, which is judged there
		return
	}
	if h.governed() {
		h.deny(e, errors.New("a governed command has no say about calls"))
		return
	}
	reply, err := h.ask(ctx, request)
	switch {
	case err == nil:
		h.print(clienthook.Output{Stdout: reply.Stdout, Stderr: reply.Stderr, ExitCode: reply.ExitCode})
	case e.Phase != clienthook.Before && unreadable == nil:
		h.print(clienthook.Emit(e, clienthook.Answer{})) // nothing can be denied any more; the next event finds what was done
	default:
		h.deny(e, err)
	}
}

// attended: Claude Code tells its hooks whether a person is there.
func (h *hookRun) attended() bool {
	attended, _ := h.lookup("CLAUDE_CODE_SESSION_ATTENDED")
	return attended == "1"
}

// ask asks the server of the workspace, which it starts if there is none.
func (h *hookRun) ask(ctx context.Context, r hookdoor.Request) (hookdoor.Reply, error) {
	dir, err := h.hookedDir()
	if err != nil {
		return hookdoor.Reply{}, err
	}
	place := hookdoor.Find(os.Getenv)
	reply, err := h.askAt(ctx, place, dir, r)
	if errors.Is(err, io.EOF) { // by a server that has just found its end
		reply, err = h.askAt(ctx, place, dir, r)
	}
	return reply, err
}

func (h *hookRun) askAt(ctx context.Context, place hookdoor.Place, dir string, r hookdoor.Request) (hookdoor.Reply, error) {
	conn, err := place.Dial(dir)
	if errors.Is(err, hookdoor.ErrNobody) {
		ended, failed := h.startServer(dir)
		if err = failed; err == nil {
			conn, err = h.dialSoon(ctx, place, dir, ended)
		}
	}
	if err != nil {
		return hookdoor.Reply{}, err
	}
	defer conn.Close()
	return conn.Ask(r)
}

// hookedDir is the workspace that the client works in, without links.
func (h *hookRun) hookedDir() (string, error) {
	for _, variable := range []string{"CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR"} {
		if project, _ := h.lookup(variable); h.workspaceFlag == "" && filepath.IsAbs(project) {
			if dir, found := workspaceAbove(project); found {
				return filepath.EvalSymlinks(dir)
			}
		}
	}
	dir, err := h.servedDir()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// startServer starts a server that ends by itself, and tells when it has ended.
func (h *hookRun) startServer(dir string) (ended <-chan error, err error) {
	program, err := h.executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "serve", "--workspace", dir, "--for-hooks")
	cmd.Dir = dir
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server of the workspace: %w", err)
	}
	end := make(chan error, 1)
	go func() { end <- cmd.Wait() }()
	return end, nil
}

// dialSoon reaches a server that is just starting.
func (h *hookRun) dialSoon(ctx context.Context, place hookdoor.Place, dir string, ended <-chan error) (conn *hookdoor.Caller, err error) {
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		if conn, err = place.Dial(dir); !errors.Is(err, hookdoor.ErrNobody) {
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case failed := <-ended:
			if failed != nil {
				return nil, fmt.Errorf("the server of the workspace does not start (%w); orchestra-mcp serve --workspace %s says why", failed, dir)
			}
			ended = nil // another one was faster
		case <-h.done: // the watchdog has answered
			return nil, err
		case <-time.After(pause):
		}
	}
}
