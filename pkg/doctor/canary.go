package doctor

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/clienthook"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/internal/scripted"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// checkCanaries has an agent of each client that is set up here ask for what no agent gets, a new file beside the state of the
// workspace, and looks whether the client's hook refuses it.
func (e *examination) checkCanaries() string {
	if !e.initialized || e.Home == "" {
		return e.warn("No hook was tried.", "Mend what is said above of the workspace or of the clients.", "")
	}
	tried := 0
	for _, name := range clientsetup.Names() {
		plan, err := clientsetup.New(name, e.setupOptions()) // an error has been told
		if err != nil || !slices.Contains(clienthook.Clients(), clienthook.Client(name)) ||
			!slices.ContainsFunc(plan.Entries(), func(entry clientsetup.Entry) bool { return e.isHere(entry.Workspace) }) {
			continue
		}
		tried++
		e.checkCanary(plan)
		if !clienthook.Client(name).Abilities("").FailsClosed {
			e.warn(plan.Title+" can only fail open: when its hook crashes or is slow, the call passes.",
				"Where that matters, take a client that fails closed; docs/clients.md has which.", "")
		}
	}
	if tried == 0 {
		return e.warn("No client that has hooks is set up for this workspace.", "Set up those that are here.", e.self("setup --all"))
	}
	return ""
}

// checkCanary tries a client that runs without a login, and else looks whether a person has.
func (e *examination) checkCanary(plan *clientsetup.Plan) {
	i := slices.IndexFunc(scripted.Clients(), func(c scripted.Client) bool { return c.Name == plan.Client })
	if i < 0 {
		e.askPerson(plan, "it does not run without a login")
		return
	}
	client := scripted.Clients()[i]
	program := e.onPath(client.Executable)
	if program == "" {
		e.askPerson(plan, client.Executable+" is not on your PATH")
		return
	}
	t, err := e.try(client, program)
	switch {
	case t.written:
		e.open(plan)
	case err != nil:
		e.askPerson(plan, err.Error())
	case t.refused:
		e.ok("%s asks before it uses a tool: a canary was refused", plan.Title)
	case t.failed != "":
		e.fail(fmt.Sprintf("The hook of %s stops every call, because it cannot have them judged: %s.", plan.Title, t.failed),
			"Mend what it says, and what fails above.", "")
	case !t.offered:
		e.ok("%s gives its agents no tool %s, so there is nothing to ask about", plan.Title, client.WriteTool)
	default:
		e.fail(fmt.Sprintf("The hook of %s was not heard: the client itself stopped the canary, in a mode that lets everything pass.", plan.Title),
			e.remedyOfHook(plan), e.self("setup "+plan.Client))
	}
}

// open says that a canary was written.
func (e *examination) open(plan *clientsetup.Plan) {
	command := "setup " + plan.Client
	if plan.Client == "codex" {
		command += " --trust-hooks"
	}
	e.fail(fmt.Sprintf("The hook of %s does not fire: a canary was written, and is removed again. Agents change there what they like.", plan.Title),
		e.remedyOfHook(plan), e.self(command))
}

func (e *examination) remedyOfHook(plan *clientsetup.Plan) string {
	if plan.Client == "codex" {
		return "Codex runs no hook that you have not trusted, and says nothing: trust the directory, then the hooks in /hooks, or have setup say it for you."
	}
	return "Trust the directory in the client, see that nothing switches hooks off, and have setup write what is missing."
}

// trial is what became of a canary. Only one of the first three is so.
type trial struct {
	written bool
	refused bool   // with a refusal of ours
	failed  string // what the hook said that could not judge
	offered bool   // the agent had the tool
}

// try runs a client with an agent of ours, under the configuration of the user and of the workspace.
func (e *examination) try(client scripted.Client, program string) (t trial, err error) {
	canary := stateDir + "/canary-" + strings.ToLower(rand.Text())
	model, err := scripted.Serve(scripted.Calling(client.Write(filepath.Join(e.Dir, filepath.FromSlash(canary)), "canary\n")))
	if err != nil {
		return t, err
	}
	defer model.Close()
	dir, err := os.MkdirTemp("", "canary-")
	if err != nil {
		return t, err
	}
	defer os.RemoveAll(dir)
	argv, env, err := client.Command(model.URL(), e.Home, dir)
	if err != nil {
		return t, err
	}
	patience := cmp.Or(e.ClientTime, time.Minute)
	ctx, cancel := context.WithTimeout(e.ctx, patience)
	defer cancel()
	result, err := scripted.Run(ctx, slices.Concat([]string{program}, argv, client.Trusting), e.Dir, slices.Concat(e.withoutLogin(), model.Alone(), env), dir)
	t.written = e.takeCanary(canary)
	t.offered = slices.Contains(model.Opening(), client.WriteTool)
	for _, told := range model.Answers() {
		t.refused = t.refused || slices.ContainsFunc(refusal.Catalogue(), func(of refusal.Entry) bool { return strings.Contains(told, string(of.Code)+": ") })
		if strings.Contains(strings.ReplaceAll(told, e.Dir, ""), programName) {
			t.failed = printable.Clip(told, 200)
		}
	}
	switch {
	case err != nil || t.refused || t.failed != "":
	case ctx.Err() != nil:
		err = fmt.Errorf("it did not end within %v", patience)
	case len(model.Requests()) == 0:
		lines := strings.Split(strings.TrimSpace(cmp.Or(strings.TrimSpace(result.Stdout), result.Stderr)), "\n")
		err = fmt.Errorf("it ended with exit code %d before its agent was asked anything: %s", result.Code, printable.Clip(lines[len(lines)-1], 200))
	}
	return t, err
}

// withoutLogin is the user's environment without what leads to a model of the user's.
func (e *examination) withoutLogin() []string {
	return slices.DeleteFunc(slices.Clone(e.Environ), func(variable string) bool {
		return slices.ContainsFunc([]string{"ANTHROPIC_", "CLAUDECODE=", "CLAUDE_CODE_OAUTH_", "CLAUDE_CODE_USE_", "OPENAI_", "CODEX_API_", "GEMINI_API_", "GOOGLE_"},
			func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
	})
}

// takeCanary removes a canary, if it was written.
func (e *examination) takeCanary(name string) (written bool) {
	if _, err := e.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err := e.root.Remove(name); err != nil {
		e.warn(fmt.Sprintf("%s is left over: %v.", name, err), "Delete it.", "")
	}
	return true
}

// askPerson says what to type in a client that could not be tried, and looks whether somebody has. The name is of today, so
// that the next look finds it.
func (e *examination) askPerson(plan *clientsetup.Plan, why string) {
	canary := fmt.Sprintf("%s/canary-%s-%s", stateDir, plan.Client, e.Now().UTC().Format(time.DateOnly))
	if e.takeCanary(canary) {
		e.open(plan)
		return
	}
	seen, err := e.hasRefused(plan.Client, canary)
	switch {
	case err != nil:
		e.warn(fmt.Sprintf("%s: the ledger does not say whether its hook fired: %v.", plan.Title, err), "Mend the ledger.", e.self("verify"))
	case seen:
		e.ok("%s asks before it uses a tool: a canary was refused today", plan.Title)
	default:
		e.warn(fmt.Sprintf("%s was not tried: %s.", plan.Title, strings.TrimSuffix(why, ".")),
			fmt.Sprintf("In %s, ask its agent to create the file %s with the text canary, and to try no other way; then look again.", plan.Title, canary),
			e.self("doctor --hooks"))
	}
}

// hasRefused reports whether a client's hook has refused the agent a file. VS Code and Copilot run one file of hooks, and do
// not always say which of them they are.
func (e *examination) hasRefused(client, name string) (bool, error) {
	l, err := ledger.Open(e.root, ledger.Options{})
	if err != nil {
		return false, err
	}
	defer l.Close(e.ctx)
	same := []string{client}
	if shared := []string{string(clienthook.Copilot), string(clienthook.VSCode)}; slices.Contains(shared, client) {
		same = shared
	}
	found, err := l.Query(e.ctx, record.Filter{Path: name, Kinds: []record.Kind{record.KindDecision}})
	if errors.Is(err, ledger.ErrNotInitialized) {
		return false, nil
	}
	return slices.ContainsFunc(found.Entries, func(entry record.Entry) bool {
		return slices.Contains(same, entry.Client.Name) && entry.Decision != nil && entry.Decision.Outcome == "refused"
	}), err
}
