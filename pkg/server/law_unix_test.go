//go:build unix

package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
)

// lawEnv makes this test binary one that is killed in the middle of a call of another server, in the workspace that it names.
// lawWritesEnv says that the server may write it.
const (
	lawEnv       = "ORCHESTRA_TEST_LAW"
	lawWritesEnv = "ORCHESTRA_TEST_LAW_WRITES"
)

func lawAsChild(dir string) error {
	srv, err := server.New(server.Options{Dir: dir, Settings: settings.Defaults(), Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	o := &others{does: map[string]func(context.Context, map[string]any) (string, error){
		"send": func(context.Context, map[string]any) (string, error) {
			for _, name := range []string{"src/made.txt", "docs/made.txt"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte("made\n"), 0o644); err != nil {
					return "", err
				}
			}
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		},
	}}
	o.offers("files", "send", `{"type":"object"}`)
	d := files(func(d *upstream.Definition) { d.Writes = os.Getenv(lawWritesEnv) != "" })
	if _, err = srv.Behind(tools.UpstreamOptions{Definitions: []upstream.Definition{d}, Offer: o, Server: o}); err != nil {
		return err
	}
	caller := session.Caller{Connection: "c"}
	arguments, err := hooks.MakeArguments(args{"intent_id": "INT-001"})
	if err != nil {
		return err
	}
	srv.Do(context.Background(), hooks.Request{Tool: "select_active_intent", Arguments: arguments, Caller: caller})
	result := srv.Do(context.Background(), hooks.Request{Tool: "files_send", Arguments: hooks.NoArguments(), Caller: caller})
	return errors.New(result.Text)
}

// A server that is killed in the middle of a call leaves what nobody knows: the record says so. What a server that may write had
// changed by then is found as a command's is.
func TestKilledInACallOfAnotherServer(t *testing.T) {
	t.Parallel()
	for _, writes := range []string{"", "yes"} {
		t.Run("writes "+writes, func(t *testing.T) {
			dir := newWorkspace(t)
			check.Git(t, dir, "add", ".")
			check.Git(t, dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), lawEnv+"="+dir, lawWritesEnv+"="+writes)
			out, err := cmd.CombinedOutput()
			state, _ := err.(*exec.ExitError)
			check.Must(t, state != nil && state.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL, "%v %s", err, out)
			l := behind(t, dir, []upstream.Definition{files()}, nil)
			s := l.selects("INT-001")
			l.passes("files_send", args{"session": s})
			e, u := l.last(record.KindRecovered)
			check.That(t, u.Server == "files" && u.Tool == "send" && u.Arguments != "" && u.Result == "" && e.Call == "files_send" && e.IntentID == "INT-001", "%+v", u)
			check.Equal(t, e.Detail["certainty"], any("probable"))
			var changed, violated []string
			for _, c := range e.Changes {
				changed = append(changed, c.Path)
			}
			for _, v := range e.Violations {
				violated = append(violated, v.Path)
			}
			if writes == "" {
				check.That(t, e.Command == nil && len(e.Changes) == 0, "%+v", e.Record)
				return
			}
			check.That(t, strings.Join(changed, " ") == "docs/made.txt src/made.txt" && strings.Join(violated, " ") == "docs/made.txt", "%v %v", changed, violated)
			check.That(t, e.Command != nil && e.Command.Command == "files send", "%+v", e.Command)
		})
	}
}

// The operator's programs are asked about a call of another server once, in its name, with what goes there.
func TestProgramsSeeOtherServers(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	record := "cat >> '" + log + "'"
	deny := `if grep -q '"to":"you"'; then echo no >&2; exit 2; fi`
	l := behind(t, newWorkspace(t), []upstream.Definition{files()}, nil, withHooks(pre(deny, "mcp__orchestra__files_send"), pre(record, "mcp__orchestra__files_.*"), post(record, "mcp__orchestra__files_.*")))
	s := l.selects("INT-005")
	l.stopped("HOOK_BLOCKED", "files_send", args{"session": s, "to": "you"})
	l.passes("files_send", args{"session": s, "to": "me"})
	l.passes("files_read", args{"path": "src/a.txt"})
	var told []string
	for _, e := range events(t, l.bench, log) {
		of, _ := e["orchestra"].(map[string]any)
		told = append(told, fmt.Sprint(e["hook_event_name"], " ", e["tool_name"], " ", e["tool_input"], " ", of["server"], " ", of["server_tool"], " ", e["tool_response"]))
	}
	check.Equal(t, strings.Join(told, "\n"), strings.Join([]string{
		"PreToolUse mcp__orchestra__files_send map[to:me] files send <nil>",
		"PostToolUse mcp__orchestra__files_send map[to:me] files send map[success:true]",
		"PreToolUse mcp__orchestra__files_read map[path:src/a.txt] files read <nil>",
		"PostToolUse mcp__orchestra__files_read map[path:src/a.txt] files read map[success:true]",
	}, "\n"))
}
