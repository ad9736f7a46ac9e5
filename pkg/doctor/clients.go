package doctor

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
	"github.com/intentgov/orchestra-mcp/internal/durable"
)

func (e *examination) checkClients() string {
	if e.Home == "" {
		return e.warn("Your home directory is not known, so the clients' configuration is not looked at.", "Set HOME.", "")
	}
	var not []string
	connected := false
	for _, name := range clientsetup.Names() {
		set, err := e.checkClient(name)
		switch {
		case err != nil:
			e.warn(fmt.Sprintf("%v.", err), "Repair the file, then set the client up.", e.self("setup "+name))
		case set:
			connected = true
		default:
			not = append(not, name)
		}
	}
	if !connected {
		return e.warn("No MCP client is set up for this workspace, so no agent comes through this server.",
			"Set yours up: "+strings.Join(not, ", ")+".", e.self("setup claude-code"))
	}
	if len(not) > 0 {
		e.ok("not set up: %s", strings.Join(not, ", "))
	}
	return ""
}

// checkClient reports whether a client has an entry for this workspace, right or wrong.
func (e *examination) checkClient(name string) (bool, error) {
	opts := e.setupOptions()
	plan, err := clientsetup.New(name, opts)
	if err != nil {
		if errors.Is(err, clientsetup.ErrUnmergeable) || errors.Is(err, clientsetup.ErrOutside) {
			return false, err
		}
		return false, nil // a client that this system does not have
	}
	entries := plan.Entries()
	if plan.ForAllWorkspaces() { // what serves others is not about us
		entries = slices.DeleteFunc(entries, func(entry clientsetup.Entry) bool { return !e.isHere(entry.Workspace) })
	}
	if len(entries) == 0 {
		e.checkStartOfHooks(plan, clientsetup.Launch{})
		return false, nil
	}
	i := slices.IndexFunc(entries, func(entry clientsetup.Entry) bool { return e.isHere(entry.Workspace) })
	if i < 0 {
		e.wrongWorkspace(plan, entries[0])
		return true, nil
	}
	before := len(e.report.Findings)
	e.checkLaunch(plan, entries[i].File, entries[i].Launch)
	hooksStart := e.checkStartOfHooks(plan, entries[i].Launch)
	e.checkSettingsOf(plan, entries[i])
	if entries[i].Fixed {
		e.warn(fmt.Sprintf("%s: the entry %q of %s names the workspace by a path of this machine; in another clone or work tree the server refuses to start, or serves this one.",
			plan.Title, entries[i].Server, entries[i].File), "Have setup write it anew.", e.self("setup "+plan.Client))
	}
	for _, text := range plan.Warnings {
		e.warn(sentence(text), "Repair the file.", "")
	}
	if hooksStart { // else what they start instead is told twice
		e.checkOpenWays(plan, opts, entries[i])
	}
	if len(e.report.Findings) == before {
		e.ok("%s starts this server for this workspace", plan.Title)
	}
	return true, nil
}

func (e *examination) setupOptions() clientsetup.Options {
	return clientsetup.Options{Workspace: e.Dir, Launch: e.launch(), Home: e.Home, OS: e.OS, LookupEnv: e.lookup}
}

// launch is that of the program that runs, where it can be named.
func (e *examination) launch() clientsetup.Launch {
	if e.Launch.Unfit() != nil {
		return clientsetup.Launch{}
	}
	return e.Launch
}

func (e *examination) isHere(workspace string) bool {
	return workspace != "" && (filepath.Clean(workspace) == filepath.Clean(e.Dir) || durable.SamePath(workspace, e.Dir))
}

func (e *examination) wrongWorkspace(plan *clientsetup.Plan, entry clientsetup.Entry) {
	if entry.Workspace == "" || strings.Contains(entry.Workspace, "${") {
		e.warn(fmt.Sprintf("%s: the entry %q of %s has arguments that setup does not write; which workspace it serves cannot be told.",
			plan.Title, entry.Server, entry.File), "Have setup write it, or leave it if you know what it does.", e.self("setup "+plan.Client))
		return
	}
	e.fail(fmt.Sprintf("%s: the entry %q of %s serves another workspace, %s.", plan.Title, entry.Server, entry.File, entry.Workspace),
		"Set the client up for this one.", e.self("setup "+plan.Client))
}

// checkSettingsOf: a flag and a variable rank as the operator's own, and the entry that gives them can come with a clone.
func (e *examination) checkSettingsOf(plan *clientsetup.Plan, entry clientsetup.Entry) {
	given := slices.Clone(entry.Arguments)
	for _, variable := range entry.Environment {
		if strings.HasPrefix(variable, "ORCHESTRA_") || strings.HasPrefix(variable, "XDG_CONFIG_HOME=") || strings.HasPrefix(variable, "HOME=") {
			given = append(given, variable)
		}
	}
	if len(given) > 0 {
		e.warn(fmt.Sprintf("%s: the entry %q of %s gives the server settings, which count as yours: %s.", plan.Title, entry.Server, entry.File, strings.Join(given, " ")),
			"Take them out of the file, unless they are yours.", "")
	}
}

// checkOpenWays finds what setup would still close: the client's own tools go round the gate. Another client can have given the
// hooks another start.
func (e *examination) checkOpenWays(plan *clientsetup.Plan, opts clientsetup.Options, entry clientsetup.Entry) {
	launches := []clientsetup.Launch{entry.Launch}
	if plan.ForAllWorkspaces() {
		launches[0] = opts.Launch
	}
	for _, hook := range plan.Hooks() {
		launches = append(launches, hook.Launch)
	}
	var open []string
	for _, opts.Launch = range launches {
		for _, opts.KeepTools = range []bool{false, true} { // either is a choice
			again, err := clientsetup.New(plan.Client, opts)
			if err != nil {
				return
			}
			if open = stillOpen(again); len(open) == 0 {
				return
			}
		}
	}
	e.warn(fmt.Sprintf("%s can write or run commands past the server: what closes that is not as setup writes it (%s).", plan.Title, strings.Join(open, "; ")),
		"Close that; a file that was changed by hand is kept, and setup says what to do with it.", e.self("setup "+plan.Client))
}

// stillOpen names the files that a plan would change.
func stillOpen(plan *clientsetup.Plan) (open []string) {
	for i, file := range plan.Files {
		if i == 0 && (len(plan.Files) > 1 || plan.ForAllWorkspaces()) { // a list of servers alone was looked at
			continue
		}
		if file.Action != clientsetup.Unchanged {
			open = append(open, file.Name+": "+file.Detail)
		}
	}
	return open
}
