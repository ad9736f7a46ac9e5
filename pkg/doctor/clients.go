package doctor

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
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
		return false, nil
	}
	i := slices.IndexFunc(entries, func(entry clientsetup.Entry) bool { return e.isHere(entry.Workspace) })
	if i < 0 {
		e.wrongWorkspace(plan, entries[0])
		return true, nil
	}
	before := len(e.report.Findings)
	e.checkCommand(plan, entries[i])
	e.checkSettingsOf(plan, entries[i])
	if entries[i].Fixed {
		e.warn(fmt.Sprintf("%s: the entry %q of %s names the workspace by a path of this machine; in another clone or work tree the server refuses to start, or serves this one.",
			plan.Title, entries[i].Server, entries[i].File), "Have setup write it anew.", e.self("setup "+plan.Client))
	}
	for _, text := range plan.Warnings {
		e.warn(sentence(text), "Repair the file.", "")
	}
	e.checkOpenWays(plan, opts, entries[i])
	if len(e.report.Findings) == before {
		e.ok("%s starts this server for this workspace", plan.Title)
	}
	return true, nil
}

func (e *examination) setupOptions() clientsetup.Options {
	return clientsetup.Options{Workspace: e.Dir, Executable: e.Executable, Home: e.Home, OS: e.OS, LookupEnv: e.lookup}
}

func (e *examination) isHere(workspace string) bool {
	return workspace != "" && (filepath.Clean(workspace) == filepath.Clean(e.Dir) || sameFile(workspace, e.Dir))
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

// checkCommand looks at the program that the client would start, without running it.
func (e *examination) checkCommand(plan *clientsetup.Plan, entry clientsetup.Entry) {
	again := e.self("setup " + plan.Client)
	program := entry.Command
	if !strings.ContainsAny(program, `/\`) {
		if program = e.onPath(program); program == "" {
			text := fmt.Sprintf("%s starts %s, which is not on the PATH.", plan.Title, entry.Command)
			if entry.Command == clientsetup.Program {
				e.fail(text, "Put a link to this program, "+e.Executable+", into a directory of your PATH.", "")
			} else {
				e.fail(text, "Name the program that is.", again)
			}
			return
		}
	}
	switch found, err := exec.LookPath(program); {
	case program == "" || err != nil:
		e.fail(fmt.Sprintf("%s starts %s, which is not there or no program.", plan.Title, entry.Command), "Name the program that is.", again)
		return
	case !filepath.IsAbs(found):
		e.warn(fmt.Sprintf("%s starts %s, which depends on the directory in which the client runs.", plan.Title, entry.Command),
			"Name the program by its whole path.", again)
		return
	}
	if !sameFile(program, e.Executable) {
		switch version, err := programVersion(program); {
		case err != nil:
			e.fail(fmt.Sprintf("%s starts %s: %v.", plan.Title, entry.Command, err), "Name this program.", again)
			return
		case version != e.Version:
			e.warn(fmt.Sprintf("%s starts %s, version %s; this is %s.", plan.Title, entry.Command, version, e.Version),
				"Name this program, or install the same version there.", again)
			return
		}
	}
	// What agents may change must not be what governs them.
	real, realErr := filepath.EvalSymlinks(program)
	top, topErr := filepath.EvalSymlinks(e.Dir)
	if rel, err := filepath.Rel(top, real); errors.Join(err, realErr, topErr) == nil && filepath.IsLocal(rel) {
		e.warn(fmt.Sprintf("%s starts %s, which is inside the workspace, where agents' commands can replace it.", plan.Title, program),
			"Install the program elsewhere, and run setup from there.", "")
	}
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

// checkOpenWays finds what setup would still close: the client's own tools go round the gate.
func (e *examination) checkOpenWays(plan *clientsetup.Plan, opts clientsetup.Options, entry clientsetup.Entry) {
	var open []string
	if !plan.ForAllWorkspaces() {
		opts.Command = entry.Command
	}
	for _, keep := range []bool{false, true} { // either is a choice
		opts.KeepTools = keep
		again, err := clientsetup.New(plan.Client, opts)
		if err != nil {
			return
		}
		open = nil
		for i, file := range again.Files {
			if i == 0 && (len(again.Files) > 1 || plan.ForAllWorkspaces()) { // a list of servers alone was looked at
				continue
			}
			if file.Action != clientsetup.Unchanged {
				open = append(open, file.Name+": "+file.Detail)
			}
		}
		if len(open) == 0 {
			return
		}
	}
	e.warn(fmt.Sprintf("%s can write or run commands past the server: what closes that is not as setup writes it (%s).", plan.Title, strings.Join(open, "; ")),
		"Close that; a file that was changed by hand is kept, and setup says what to do with it.", e.self("setup "+plan.Client))
}
