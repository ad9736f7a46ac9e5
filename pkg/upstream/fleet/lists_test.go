package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/fleet"
)

var unknownTool = catalogue.Tool{Server: "nobody", Own: "x", Name: "nobody_x"}

// TestFirstUse: those that are not known are started together, and those that fail do not hold up the others.
func TestFirstUse(t *testing.T) {
	y := newYard(t, is("one", "small"), is("bad", "dies"), is("two", "small")).open()
	check.Equal(t, len(y.Parts()[0].Entries), 0)
	check.Equal(t, names(y.Tools(context.Background())), "one_echo two_echo")
	check.Equal(t, y.state("bad").Status, fleet.Failing)
	check.That(t, strings.Contains(y.Withheld("bad_echo"), "servers list"), "%q", y.Withheld("bad_echo"))
	check.Equal(t, y.said("two_echo", `{"text":"x"}`), "small x")
	// Afterwards the list is that of the pins, and starts nothing.
	y.options.Definitions = slices.DeleteFunc(y.options.Definitions, func(d definition) bool { return d.Name == "bad" })
	y.open()
	check.That(t, !y.Listed("one_echo"), "a tool is listed before any pin file was read")
	check.Equal(t, names(y.Tools(context.Background())), "one_echo two_echo")
	check.That(t, y.Listed("one_echo") && !y.Listed("bad_echo"), "not the tools are listed that are trusted")
	check.Equal(t, y.state("one").Status, fleet.Idle)
	check.Equal(t, y.said("one_echo", `{}`), "small ")
	check.Equal(t, y.state("two").Status, fleet.Idle)
}

// TestALateServerAnnouncesItself: the first list does not wait for whoever gives up, nor do later ones.
func TestALateServerAnnouncesItself(t *testing.T) {
	y := newYard(t, is("one", "small")).open()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	y.Tools(ctx)
	y.until("the tools", func() bool {
		y.mu.Lock()
		defer y.mu.Unlock()
		return slices.Contains(y.changed, "tools")
	})
	check.Equal(t, names(y.Tools(ctx)), "one_echo")
}

// TestAChangedToolIsNotCalled, be it changed while the server runs or while it does not, nor is a new one.
func TestAChangedToolIsNotCalled(t *testing.T) {
	y := newYard(t, is("one", "small")).open()
	old, _ := y.tool("one_echo")
	check.Equal(t, y.told("one", "change", `{}`), "changed")
	y.until("the quarantine", func() bool { _, ok := y.Tool("one_echo"); return !ok })
	check.Equal(t, len(y.Tools(context.Background())), 0)
	check.That(t, strings.Contains(y.Withheld("one_echo"), "servers review one"), "%q", y.Withheld("one_echo"))
	check.Equal(t, y.Withheld("one_nothing")+y.Withheld("echo"), "")
	_, err := y.Call(context.Background(), old, nil, mcpclient.Handlers{})
	check.That(t, errors.Is(err, fleet.ErrNotTrusted) && strings.Contains(err.Error(), "servers review one"), "%v", err)
	check.That(t, strings.Contains(y.logged(), "servers review"), "it is not logged: %s", y.logged())
	// It is as it was again when the program starts anew.
	y.open()
	check.Equal(t, len(y.Tools(context.Background())), 0)
	check.OK(t, y.Start(context.Background(), "one"))
	check.Equal(t, y.said("one_echo", `{}`), "small ")
}

// TestAListingIsOneProcess': what the program says elsewhere does not speak for the one that has said here that it is another.
func TestAListingIsOneProcess(t *testing.T) {
	y := newYard(t, is("one", "small")).open()
	y.tool("one_echo")
	check.Equal(t, y.told("one", "change", `{}`), "changed")
	y.until("the quarantine", func() bool { _, ok := y.Tool("one_echo"); return !ok })
	elsewhere := fleet.Open(y.options)
	defer elsewhere.Close()
	check.OK(t, elsewhere.Start(context.Background(), "one"))
	echo, ok := y.tool("one_echo")
	check.Must(t, ok, "the book does not have what was listed last")
	_, err := elsewhere.Call(context.Background(), echo, nil, mcpclient.Handlers{})
	check.OK(t, err)
	_, err = y.Call(context.Background(), echo, nil, mcpclient.Handlers{})
	check.That(t, errors.Is(err, fleet.ErrNotTrusted), "the one that changed is called: %v", err)
}

// TestASilentChangeIsNoticed in time, of a server that says nothing of it.
func TestASilentChangeIsNoticed(t *testing.T) {
	y, c := newYard(t, is("one", "small")), &clock{}
	y.options.Clock = c.now
	y.open()
	y.tool("one_echo")
	check.Equal(t, y.told("one", "alter", `{}`), "altered")
	check.Equal(t, y.said("one_echo", `{}`), "small ")
	c.move(11 * time.Minute)
	y.said("one_echo", `{}`)
	y.until("the quarantine", func() bool { _, ok := y.Tool("one_echo"); return !ok })
}

// TestTheFirstCallLooksFirst: a server that comes with another tool than was pinned is not called.
func TestTheFirstCallLooksFirst(t *testing.T) {
	y := newYard(t, is("one", "small")).open()
	y.tool("one_echo")
	y.options.Definitions[0].Command[2] = "otherwise"
	y.open()
	echo, ok := y.Tool("one_echo")
	check.Must(t, ok, "it is not offered")
	_, err := y.Call(context.Background(), echo, nil, mcpclient.Handlers{})
	check.That(t, errors.Is(err, fleet.ErrNotTrusted), "%v", err)
}

// TestTrustComesFromOtherProcesses: what the operator trusts elsewhere is offered, and announced.
func TestTrustComesFromOtherProcesses(t *testing.T) {
	y := newYard(t, is("one", "small")).open()
	y.tool("one_echo")
	check.Equal(t, y.told("one", "change", `{}`), "changed")
	y.until("the quarantine", func() bool { _, ok := y.Tool("one_echo"); return !ok })
	y.mu.Lock()
	y.changed = nil
	y.mu.Unlock()
	trust(t, y)
	y.until("the announcement", func() bool {
		y.mu.Lock()
		defer y.mu.Unlock()
		return slices.Contains(y.changed, "tools")
	})
	check.Equal(t, y.said("one_fresh", `{}`), "small ")
}

// TestOneNameOneServer: no server is reached under the name of another.
func TestOneNameOneServer(t *testing.T) {
	bare, one, ones := is("bare", "small"), is("one", "small"), is("one-more", "small")
	bare.Prefix = ""
	y := newYard(t, bare, one, ones)
	y.options.Ours = []string{"one_echo"}
	y.open()
	check.Equal(t, names(y.Tools(context.Background())), "echo one-more_echo")
	_, ok := y.Tool("one_echo")
	check.That(t, !ok, "the name of one of ours is another's")
	// One that claims to be another server's tool is not called there.
	echo, _ := y.Tool("echo")
	echo.Server = "one-more"
	_, err := y.Call(context.Background(), echo, nil, mcpclient.Handlers{})
	check.That(t, errors.Is(err, fleet.ErrNotTrusted), "%v", err)
}

// TestPromptsAndResources are named after their servers, and reach them under their own names.
func TestPromptsAndResources(t *testing.T) {
	bare, one, two := is("bare", "way-bare"), is("one", "way-one"), is("two", "way-two")
	bare.Prefix = ""
	y := newYard(t, bare, one, two).open()
	ctx := context.Background()
	y.Tools(ctx)
	members := func(entries []json.RawMessage, member string) string {
		var all []string
		for _, entry := range entries {
			var object map[string]any
			check.OK(t, json.Unmarshal(entry, &object))
			all = append(all, object[member].(string))
		}
		return strings.Join(all, " ")
	}
	check.Equal(t, members(y.Prompts(ctx), "name"), "greet one_greet two_greet")
	check.Equal(t, members(y.Resources(ctx), "uri"), "file:///shared file:///way-bare one+file:///shared one+file:///way-one two+file:///shared two+file:///way-two")
	check.Equal(t, members(y.Templates(ctx), "uriTemplate"), "note:///{id} one+note:///{id} two+note:///{id}")
	check.That(t, strings.Contains(string(y.Prompts(ctx)[1]), `"description":"Greets."`), "%s", y.Prompts(ctx)[1])

	type passing func(context.Context, json.RawMessage, mcpclient.Handlers) (json.RawMessage, bool, error)
	for _, row := range []struct {
		pass         passing
		params, seen string // "" is not found
	}{
		{y.GetPrompt, `{"arguments":{"name":"x"},"name":"two_greet"}`, `way-two {"arguments":{"name":"x"},"name":"greet"}`},
		{y.GetPrompt, `{"_meta":{"progressToken":1},"name":"greet"}`, `way-bare {"name":"greet"}`},
		{y.GetPrompt, `{"name":"one_other"}`, ""},
		{y.GetPrompt, `{"name":1}`, ""},
		{y.ReadResource, `{"uri":"one+file:///anything"}`, `way-one {"uri":"file:///anything"}`},
		{y.ReadResource, `{"uri":"file:///way-two"}`, `way-two {"uri":"file:///way-two"}`},
		{y.ReadResource, `{"uri":"file:///shared"}`, `way-bare {"uri":"file:///shared"}`},
		{y.ReadResource, `{"uri":"note:///7"}`, `way-bare {"uri":"note:///7"}`},
		{y.ReadResource, `{"uri":"nobody+file:///x"}`, ""},
		{y.ReadResource, `{"uri":"orchestra://intents"}`, ""},
		{y.ReadResource, `{}`, ""},
		{y.Complete, `{"ref":{"type":"ref/prompt","name":"one_greet"},"argument":{"name":"who","value":"a"}}`, `way-one {"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"a"}}`},
		{y.Complete, `{"ref":{"type":"ref/resource","uri":"two+note:///{id}"},"argument":{}}`, `way-two {"ref":{"type":"ref/resource","uri":"note:///{id}"},"argument":{}}`},
		{y.Complete, `{"ref":{"type":"ref/prompt","name":"none"}}`, ""},
		{y.Complete, `{}`, ""},
	} {
		result, found, err := row.pass(ctx, json.RawMessage(row.params), mcpclient.Handlers{})
		check.OK(t, err)
		check.Must(t, found == (row.seen != ""), "%s is found: %v", row.params, found)
		var r struct{ Seen string }
		if found {
			check.OK(t, json.Unmarshal(result, &r))
		}
		seen, _, _ := strings.Cut(r.Seen, `,"_meta"`)
		check.Equal(t, seen, strings.TrimSuffix(row.seen, "}"), "%s", row.params)
	}
	server, own, found := y.Resource("one+file:///a")
	check.That(t, found && server == "one" && own == "file:///a", "%s %s", server, own)
}

// TestNobodyTakesTheNamesOfOthers: one without a prefix lists what another one's things are called with us, and what ours are.
func TestNobodyTakesTheNamesOfOthers(t *testing.T) {
	bare, one := is("bare", "taker"), is("one", "way-one")
	bare.Prefix = ""
	y := newYard(t, bare, one).open()
	ctx := context.Background()
	y.Tools(ctx)
	listed := fmt.Sprintf("%s", slices.Concat(y.Prompts(ctx), y.Resources(ctx), y.Templates(ctx)))
	check.That(t, !strings.Contains(strings.ToLower(listed), "mine") && strings.Contains(listed, `"free"`) && strings.Contains(listed, "file:///taker"), "listed: %s", listed)
	for name, whose := range map[string]string{"one_greet": "one", "free": "bare"} {
		server, found := y.Prompt(name)
		check.That(t, found && server == whose, "the prompt %s is of %q", name, server)
	}
	for uri, whose := range map[string]string{
		"one+file:///shared": "one", "one+note:///7": "one", "other:///x": "bare", "orchestra://mine": "", "orchestra://intents": "", "ORCHESTRA:x": "",
	} {
		server, _, found := y.Resource(uri)
		check.That(t, found == (whose != "") && server == whose, "the resource %s is of %q", uri, server)
	}
	_, found, err := y.Complete(ctx, json.RawMessage(`{"ref":{"type":"ref/resource","uri":"Orchestra://{any}"},"argument":{}}`), mcpclient.Handlers{})
	check.That(t, !found && err == nil, "completes what is ours: %v", err)
}

// TestDamagedPins: nothing of that server is offered or started, and the others go on.
func TestDamagedPins(t *testing.T) {
	one, two := is("one", "small"), is("two", "small")
	y := newYard(t, one, two).open()
	y.Tools(context.Background())
	pins := fleet.FilesOf(y.options.UserDir, y.workspace, one).Pins
	check.OK(t, os.WriteFile(pins, []byte("{"), 0o600))
	y.open()
	check.Equal(t, names(y.Tools(context.Background())), "two_echo")
	check.That(t, errors.Is(y.Parts()[0].Err, catalogue.ErrDamaged), "%v", y.Parts()[0].Err)
	err := y.Start(context.Background(), "one")
	check.That(t, errors.Is(err, catalogue.ErrDamaged), "%v", err)
	check.Equal(t, string(check.Value(os.ReadFile(pins))(t)), "{")
	check.Equal(t, filepath.Base(pins), "one.tools.json")
}

// TestWhatIsWrongIsLoggedOnce, and not without end of a server that is wrong in a new way all the time.
func TestWhatIsWrongIsLoggedOnce(t *testing.T) {
	y := newYard(t, is("one", "plain")).open()
	for i := range 3000 {
		y.Note("one", "the first")
		y.Note("one", fmt.Sprint("number ", i))
	}
	check.Equal(t, strings.Count(y.logged(), "the first"), 1)
	check.Equal(t, strings.Count(y.logged(), "number "), 99)
	check.Equal(t, strings.Count(y.logged(), "more is wrong"), 1)
}

// TestChangesWithoutEnd: who says without end that its lists have changed is looked at less and less often.
func TestChangesWithoutEnd(t *testing.T) {
	var pause, all time.Duration
	for range 100 {
		pause = fleet.PauseAfter(pause, 0)
		all += pause
	}
	check.That(t, all > time.Hour, "100 looks within %v", all)
	check.Equal(t, fleet.PauseAfter(pause, 2*time.Minute), time.Second)
}
