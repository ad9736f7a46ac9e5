package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// checkStartOfHooks looks at what the hooks of a client start, where that is not what the client's entry starts; fine tells that
// nothing was to be said of them.
func (e *examination) checkStartOfHooks(plan *clientsetup.Plan, server clientsetup.Launch) (fine bool) {
	before := len(e.report.Findings)
	for _, hook := range plan.Hooks() {
		key := strings.Join(append([]string{hook.File}, hook.Launch.Words()...), "\x00")
		if e.hooksSeen[key] || slices.Equal(hook.Launch.Words(), server.Words()) {
			continue
		}
		if e.hooksSeen == nil {
			e.hooksSeen = map[string]bool{}
		}
		e.hooksSeen[key] = true // VS Code and Copilot have one file
		e.checkLaunch(plan, "a hook in "+hook.File, hook.Launch)
	}
	return len(e.report.Findings) == before
}

// checkLaunch looks at what the client would start, without running it. where is the file that says so.
func (e *examination) checkLaunch(plan *clientsetup.Plan, where string, launch clientsetup.Launch) {
	words, again := launch.Words(), e.self("setup "+plan.Client)
	starts := fmt.Sprintf("%s (%s) starts %s", plan.Title, where, words[0])
	if e.Launch.Container() {
		e.ok("%s; from inside a container it is not seen whether that is there", starts)
		return
	}
	program := words[0]
	if !strings.ContainsAny(program, `/\`) {
		if program = e.onPath(program); program == "" {
			e.failName(starts+", which is not on the PATH.", launch, again)
			return
		}
	}
	switch found, err := exec.LookPath(program); {
	case program == "" || err != nil:
		e.fail(starts+", which is not there or no program.", "Name the program that is.", again)
		return
	case !filepath.IsAbs(found):
		e.warn(starts+", which depends on the directory in which the client runs.", "Name the program by its whole path.", again)
		return
	}
	if launch.NPX() || launch.Container() {
		e.checkFetched(starts, launch, again)
	} else {
		e.checkBinary(starts, program, again)
	}
}

// failName says what is missing on the PATH, and who puts it there.
func (e *examination) failName(text string, launch clientsetup.Launch, again string) {
	switch {
	case launch.NPX():
		e.fail(text, "Install Node.js with npm; or install this program, and name it.", again)
	case launch.Container():
		e.fail(text, "Install Docker; or install this program, and name it.", again)
	case slices.Equal(launch.Words(), []string{clientsetup.Program}) && e.launch().Path() != "":
		e.fail(text, "Put a link to this program, "+e.launch().Path()+", into a directory of your PATH.", "")
	default:
		e.fail(text, "Name the program that is.", again)
	}
}

// checkFetched looks at the version of a package or an image.
func (e *examination) checkFetched(starts string, launch clientsetup.Launch, again string) {
	// A package writes a build's version without v, and a dot for its plus sign.
	mine := cmp.Or(e.Launch.Version(), strings.ReplaceAll(strings.TrimPrefix(e.Version, "v"), "+", "."))
	if version := launch.Version(); version != "" && strings.TrimPrefix(version, "v") != mine {
		e.warn(fmt.Sprintf("%s with version %s; this is %s.", starts, version, mine), "Name this version.", again)
	} else if !launch.Plain() {
		e.warn(starts+" with other flags than setup writes: by such it can take packages, settings or programs from the workspace, "+
			"where agents' commands can replace them, or reach more than that.", "Have setup write it.", again)
	}
}

// checkBinary looks whether a program is this one, or another of the same version, and will stay.
func (e *examination) checkBinary(starts, program, again string) {
	binary := clientsetup.Binary(program)
	if !durable.SamePath(binary, e.Executable) {
		switch version, err := programVersion(binary); {
		case err != nil:
			e.fail(fmt.Sprintf("%s: %v.", starts, err), "Name this program.", again)
			return
		case version != e.Version:
			e.warn(fmt.Sprintf("%s, version %s; this is %s.", starts, version, e.Version),
				"Name this program, or install the same version there.", again)
			return
		}
	}
	// What agents may change must not be what governs them.
	real, realErr := filepath.EvalSymlinks(binary)
	top, topErr := filepath.EvalSymlinks(e.Dir)
	if rel, err := filepath.Rel(top, real); errors.Join(err, realErr, topErr) == nil && filepath.IsLocal(rel) {
		e.warn(fmt.Sprintf("%s, which is inside the workspace, where agents' commands can replace it.", starts),
			"Install the program elsewhere, and run setup from there.", "")
		return
	}
	path, _ := e.lookup("PATH")
	at := clientsetup.Origin{Executable: program, Path: path, Workspace: e.Dir, OS: e.OS}
	if why := at.Passing(); why != "" {
		e.warn(fmt.Sprintf("%s, which will not stay: %s.", starts, why), "Name the program by what stays.", again)
	}
}
