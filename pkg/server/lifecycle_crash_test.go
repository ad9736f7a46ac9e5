//go:build unix

package server_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/status"
)

// stepEnv makes this test binary a program that takes a step in an intent's
// life, in the workspace that it names, and dies where stepPointEnv says.
const (
	stepEnv      = "ORCHESTRA_TEST_STEP"
	stepPointEnv = "ORCHESTRA_TEST_STEP_DIES"
	// stepKindEnv is "selection" where the step is that of a selection.
	stepKindEnv = "ORCHESTRA_TEST_STEP_KIND"
)

func stepAsChild(dir string) error {
	srv, err := server.New(server.Options{Dir: dir, Settings: settings.Defaults(), Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	point := os.Getenv(stepPointEnv)
	around := func(r hooks.Recorder) hooks.Recorder { return mortal{r, point} }
	var result hooks.Result
	if os.Getenv(stepKindEnv) == "selection" {
		result = srv.SelectWith(context.Background(), "INT-002", around)
	} else {
		result = srv.StepWith(context.Background(), server.IntentStep{IntentID: "INT-002", Status: intent.InProgress}, around)
	}
	text, _ := json.Marshal(result.Structured)
	_, err = os.Stderr.Write(text)
	return err
}

// mortal is a recorder whose process is killed at a point of the way.
type mortal struct {
	hooks.Recorder
	point string
}

func (m mortal) dies(at string) {
	if m.point == at {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (m mortal) Begin(ctx context.Context, call *hooks.Call, pending *hooks.Pending) (hooks.Inflight, error) {
	m.dies("planned")
	inflight, err := m.Recorder.Begin(ctx, call, pending)
	m.dies("journaled")
	return mortalFlight{inflight, m}, err
}

type mortalFlight struct {
	hooks.Inflight
	mortal mortal
}

func (m mortalFlight) Record(ctx context.Context, o *hooks.Outcome) (string, error) {
	m.mortal.dies("edited")
	id, err := m.Inflight.Record(ctx, o)
	m.mortal.dies("recorded")
	return id, err
}

// A process that is killed anywhere between the edit of the intents file and
// its record leaves an edit with one record, or none without.
func TestKilledBetweenEditAndRecord(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"lifecycle", "selection"} {
		t.Run(kind, func(t *testing.T) { killedBetweenEditAndRecord(t, kind) })
	}
}

func killedBetweenEditAndRecord(t *testing.T, kind string) {
	for _, c := range []struct {
		point  string
		edited bool
		touch  string // what a person does to the file before the next server
		want   []string
	}{
		{point: "planned"},
		{point: "journaled"},
		{"edited", true, "", []string{`"kind":"recovered"`, `"of":"` + kind + `"`}},
		{"edited", true, "# by hand\n", []string{`"kind":"recovered"`, `"certainty":"probable"`}},
		{"recorded", true, "", []string{`"kind":"` + kind + `"`}},
	} {
		t.Run(c.point+c.touch, func(t *testing.T) {
			dir := newWorkspace(t)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), stepEnv+"="+dir, stepPointEnv+"="+c.point, stepKindEnv+"="+kind)
			out, err := cmd.CombinedOutput()
			state := cmd.ProcessState
			check.Must(t, err != nil && state != nil && state.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL,
				"it did not die: %v %s", err, out)
			b := start(t, dir)
			text := b.read(".orchestration/active_intents.yaml")
			if edited := text != intentsYAML; edited != c.edited {
				t.Fatalf("edited: %v", edited)
			}
			if c.touch != "" {
				check.Write(t, dir, ".orchestration/active_intents.yaml", text+c.touch)
			}
			b.connect()
			b.OK("update_intent", args{"intent_id": "INT-001", "note": "the next call settles"})
			var of []string
			for _, line := range b.ledgerLines() {
				if strings.Contains(line, `"intent_id":"INT-002"`) {
					of = append(of, line)
				}
			}
			if len(of) != min(len(c.want), 1) {
				t.Fatalf("%d records:\n%s", len(of), strings.Join(of, "\n"))
			}
			for _, part := range c.want {
				if !strings.Contains(of[0], part) {
					t.Errorf("the record lacks %s: %s", part, of[0])
				}
			}
			if c.touch == "" && len(of) > 0 && strings.Contains(of[0], "probable") {
				t.Errorf("the record is not sure: %s", of[0])
			}
		})
	}
}

// Of a server that was killed nothing is shown as live, and what it had begun is unsettled until the next one comes.
func TestStatusOfAKilledServer(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	c := startChild(t, dir)
	t.Cleanup(c.kill)
	check.OK(t, c.greet())
	selected := check.Value(c.call("select_active_intent", args{"intent_id": "INT-001"}))(t)
	if a, err := c.call("execute_command", args{"session": selected.StructuredContent.Session, "command": "echo > src/begun; while :; do sleep 0.1; done", "background": true}); err != nil || a.IsError {
		t.Fatalf("%+v %v", a, err)
	}
	b := &bench{t: t, dir: dir}
	b.eventually("the command runs", func() bool { return b.exists("src/begun") })
	look := func() status.Report {
		t.Helper()
		r, err := status.Of(t.Context(), status.Options{Dir: dir, Now: time.Now})
		check.Must(t, err == nil && len(r.Problems) == 0, "%v %v", err, r.Problems)
		return r
	}
	if r := look(); len(r.Servers) != 1 || len(r.Agents) != 1 || len(r.Running) != 1 || r.Ledger.Unsettled != 0 {
		t.Errorf("while it lives: %+v", r)
	}
	c.kill()
	if r := look(); len(r.Servers)+len(r.Agents)+len(r.Running) > 0 || r.Ledger.Unsettled != 1 {
		t.Errorf("after it was killed: %+v", r)
	}
}
