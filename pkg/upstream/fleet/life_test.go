//go:build unix

package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/fleet"
)

// TestItRests: a server that dies at once is started less and less often, and who asks meanwhile is told at once.
func TestItRests(t *testing.T) {
	y, c := newYard(t, is("one", "counted")), &clock{}
	y.options.Clock = c.now
	y.open()
	starts := func() int { return len(check.Value(os.ReadFile(filepath.Join(y.Directory("one"), "count")))(t)) }
	for i, rest := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		rest *= time.Second
		_, err := y.ask("one", "echo", `{}`)
		check.That(t, errors.Is(err, fleet.ErrEnded) && strings.Contains(err.Error(), "exit status 1"), "%d: %v", i, err)
		failure, noted := y.failed("one")
		check.That(t, noted && failure.Times == i+1 && failure.At.Equal(c.now().UTC().Truncate(time.Second)) && strings.Contains(failure.Why, "exit status 1"), "%+v", failure)
		made := starts()
		check.Equal(t, y.state("one").Next, c.now().Add(rest))
		c.move(rest - time.Millisecond)
		_, err = y.ask("one", "echo", `{}`)
		check.That(t, errors.Is(err, fleet.ErrResting) && strings.Contains(err.Error(), "exit status 1") && strings.Contains(err.Error(), "servers list"), "%v", err)
		check.Equal(t, starts(), made)
		c.move(time.Millisecond)
	}
}

// TestItComesBack: one that has lived well is started again soon, by the next request.
func TestItComesBack(t *testing.T) {
	y, c := newYard(t, is("one", "plain")), &clock{}
	y.options.Clock = c.now
	y.open()
	for range 3 {
		check.Equal(t, y.told("one", "echo", `{"text":"here"}`), "plain here")
		_, noted := y.failed("one")
		check.That(t, !noted, "a server that has started has failed")
		c.move(time.Hour)
		_, err := y.ask("one", "die", `{}`)
		check.That(t, errors.Is(err, fleet.ErrEnded) && strings.Contains(err.Error(), "exit status 7") && strings.Contains(err.Error(), "cannot go on"), "%v", err)
		y.until("the end", func() bool { return y.state("one").Status == fleet.Failing })
		check.Equal(t, y.state("one").Next, c.now().Add(time.Second))
		c.move(time.Second)
	}
}

// failed is what other processes are told of a server that does not run.
func (y *yard) failed(name string) (fleet.Failure, bool) {
	d := y.options.Definitions[slices.IndexFunc(y.options.Definitions, func(d definition) bool { return d.Name == name })]
	return fleet.FilesOf(y.options.UserDir, y.workspace, d).Failed(d)
}

// TestLastWords: of what a program prints, the line that says what is wrong is told.
func TestLastWords(t *testing.T) {
	for printed, want := range map[string]string{
		"": "", " \n\n": "", "one\ntwo\n\n": "two",
		"node:internal/loader:1\n  throw err;\n  ^\n\nError: Cannot find module '/x.js'\n    at Module.x (node:internal/loader:1:2) {\n  code: 'MODULE_NOT_FOUND'\n}\n\nNode.js v20\n": "Error: Cannot find module '/x.js'",
		"Traceback (most recent call last):\n  File \"x\"\nModuleNotFoundError: No module named 'x'\n":                                                                                 "ModuleNotFoundError: No module named 'x'",
		"npm error code E404\nnpm error 404 Not Found - GET https://r.example/x\nnpm error 404\nnpm error A complete log of this run can be found in: /x.log\n":                        "npm error 404 Not Found - GET https://r.example/x",
	} {
		check.Equal(t, fleet.LastLine(printed), want)
	}
}

// TestStartedOnce, however many ask.
func TestStartedOnce(t *testing.T) {
	y := newYard(t, is("one", "plain")).open()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { y.told("one", "echo", `{}`) })
	}
	all.Wait()
	check.Equal(t, strings.Count(y.logged(), "a server was started"), 1)
}

// TestOneThatWillNotSpeak: the start ends with the patience of who asks, or with the program.
func TestOneThatWillNotSpeak(t *testing.T) {
	for _, way := range []string{"silent", "chatter"} {
		y := newYard(t, is("one", way)).open()
		ctx, cancel := context.WithTimeoutCause(context.Background(), 100*time.Millisecond, errors.New("enough"))
		err := y.Start(ctx, "one")
		cancel()
		check.That(t, err != nil, "%s speaks", way)
		check.OK(t, y.Close())
		_, err = y.ask("one", "echo", `{}`)
		check.That(t, errors.Is(err, fleet.ErrClosed), "%v", err)
		check.Equal(t, y.state("one").Status, fleet.Ended)
	}
}

// TestAHostileServerHarmsNobodyElse, and itself no more than the one request.
func TestAHostileServerHarmsNobodyElse(t *testing.T) {
	hasty := is("hasty", "plain")
	hasty.Timeout = 300 * time.Millisecond
	y, c := newYard(t, is("good", "plain"), is("bad", "plain"), hasty), &clock{}
	y.options.Clock = c.now
	y.open()
	y.Tools(context.Background())
	var waits sync.WaitGroup
	waits.Go(func() {
		for range 20 {
			check.Equal(t, y.said("good_echo", `{"text":"hello"}`), "plain hello")
		}
	})
	flood, _ := y.tool("bad_flood")
	waits.Go(func() { _, _ = y.Call(context.Background(), flood, nil, mcpclient.Handlers{}) }) // which bad_others answers
	for _, row := range []struct {
		tool string
		want error // nil: it answers
		says string
	}{
		{"hasty_hang", fleet.ErrTimeout, "within 300ms"},
		{"hasty_flood", fleet.ErrTimeout, ""},
		{"bad_twice", nil, "first"},
		{"bad_others", nil, "yours"},
		{"bad_liar", fleet.ErrOutput, "sum: it is a string, and has to be number"},
		{"bad_bare", fleet.ErrOutput, "no structuredContent"},
		{"bad_echo", nil, "plain "}, // while it floods
		{"bad_die", fleet.ErrEnded, "exit status 7"},
		{"bad_huge", fleet.ErrEnded, "too large"},
	} {
		y.until("the rest", func() bool {
			c.move(time.Minute)
			return y.Start(context.Background(), "bad") == nil
		})
		result, err := y.call(row.tool, `{}`)
		switch {
		case row.want != nil:
			check.That(t, errors.Is(err, row.want) && strings.Contains(err.Error(), row.says), "%s: %v", row.tool, err)
		case err != nil:
			t.Errorf("%s: %v", row.tool, err)
		default:
			check.Equal(t, textOf(t, result), row.says)
		}
	}
	waits.Wait()
	check.Equal(t, string(check.Value(y.call("good_sum", `{}`))(t)), `{"content":[],"structuredContent":{"sum":3}}`)
}

// TestNotTooManyAtOnce: more requests than a server may have wait, and who gives up is gone.
func TestNotTooManyAtOnce(t *testing.T) {
	y := newYard(t, is("one", "plain")).open()
	hang, _ := y.tool("one_hang")
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range fleet.MaxInFlight {
		all.Go(func() {
			_, err := y.Call(ctx, hang, nil, mcpclient.Handlers{})
			check.That(t, errors.Is(err, context.Canceled), "%v", err)
		})
	}
	y.until("all of them", func() bool { return y.state("one").InFlight == fleet.MaxInFlight })
	gone, enough := context.WithCancelCause(context.Background())
	enough(errors.New("enough"))
	_, err := y.Call(gone, hang, nil, mcpclient.Handlers{})
	check.That(t, err != nil && strings.Contains(err.Error(), "enough"), "%v", err)
	cancel()
	all.Wait()
	check.Equal(t, y.said("one_echo", `{}`), "plain ")
}

func TestProgressIsPassedOn(t *testing.T) {
	y := newYard(t, is("one", "plain")).open()
	slow, _ := y.tool("one_slow")
	var seen atomic.Int64
	_, err := y.Call(context.Background(), slow, nil, mcpclient.Handlers{Progress: func(string, float64, float64) { seen.Add(1) }})
	check.That(t, err == nil && seen.Load() > 0, "%v, %d signs", err, seen.Load())
}

// TestErrorsOfServers are passed on, with what is theirs.
func TestErrorsOfServers(t *testing.T) {
	y := newYard(t, is("one", "plain")).open()
	_, err := y.call("one_fail", `{}`)
	var said *mcpclient.Error
	check.That(t, errors.As(err, &said) && said.Code == -32000, "%v", err)
	var named *fleet.Error
	check.That(t, errors.As(err, &named) && named.Server == "one", "%v", err)
	_, err = y.Call(context.Background(), unknownTool, nil, mcpclient.Handlers{})
	check.That(t, errors.Is(err, fleet.ErrUnknown), "%v", err)
	check.That(t, errors.Is(y.Start(context.Background(), "nobody"), fleet.ErrUnknown), "it starts nobody")
}

// TestWhatWasAsked: only of a request that never left it is said that the server was not asked.
func TestWhatWasAsked(t *testing.T) {
	missing := is("missing", "plain")
	missing.Command[0] = "no-such-program"
	y := newYard(t, is("one", "plain"), is("dead", "counted"), missing).open()
	for _, name := range []string{"dead", "missing"} {
		_, err := y.ask(name, "echo", `{}`)
		check.That(t, fleet.NotSent(err), "%v", err)
	}
	_, err := y.Call(context.Background(), unknownTool, nil, mcpclient.Handlers{})
	check.That(t, fleet.NotSent(err), "%v", err)
	hang, _ := y.tool("one_hang")
	_, err = y.Call(context.Background(), hang, json.RawMessage("[]]"), mcpclient.Handlers{})
	check.That(t, fleet.NotSent(err), "%v", err)
	check.OK(t, y.Close())
	_, err = y.ask("one", "echo", `{}`)
	check.That(t, errors.Is(err, fleet.ErrClosed) && fleet.NotSent(err), "%v", err)
}

// TestTheEndDoesNotUndo: of a call that the server has when all ends, nobody says that it was not made.
func TestTheEndDoesNotUndo(t *testing.T) {
	for _, way := range []string{"one", "web"} {
		d, reached := is("one", "plain"), make(chan struct{})
		asked := sync.OnceFunc(func() { close(reached) })
		if way == "web" {
			d.Command, d.URL = nil, hangsOverHTTP(t, asked)
		}
		y := newYard(t, d).open()
		tool, ok := y.tool("one_hang")
		check.Must(t, ok, "there is no tool; the log: %s", y.logged())
		ended := make(chan error, 1)
		go func() {
			_, err := y.Call(context.Background(), tool, nil, mcpclient.Handlers{Progress: func(string, float64, float64) { asked() }})
			ended <- err
		}()
		<-reached
		check.OK(t, y.Close())
		err := <-ended
		check.That(t, err != nil && !fleet.NotSent(err) && errors.Is(err, fleet.ErrEnded), "%s: %v", way, err)
	}
}

// TestTheEndLeavesNothing, not even of one that will not go.
func TestTheEndLeavesNothing(t *testing.T) {
	for _, held := range []bool{false, true} {
		y := newYard(t, is("one", "stubborn"), is("two", "plain"), is("three", "silent"))
		if held {
			y.held()
		}
		y.open()
		y.told("one", "echo", `{}`)
		y.told("two", "echo", `{}`)
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		check.That(t, y.Start(ctx, "three") != nil, "it speaks")
		cancel()
		pids := []int{y.state("one").PID, y.state("two").PID}
		check.OK(t, y.Close())
		for _, pid := range pids {
			check.That(t, errors.Is(syscall.Kill(pid, 0), syscall.ESRCH), "%d is left", pid)
		}
	}
}
