package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
)

func (e *examination) checkWorkspace() {
	if err := scaffold.CheckPlace(e.Dir, e.Home); err != nil {
		e.warn(fmt.Sprintf("%v.", err), "Use a project's own directory as the workspace.", "")
	}
	info, err := e.root.Lstat(orchdir.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.fail(e.Dir+" is not a workspace yet: agents can change nothing in it.", "Set it up.", e.self("init"))
		return
	case err != nil:
		e.fail(fmt.Sprintf("%s cannot be read: %v.", orchdir.Name, err), "Make it a directory that you can read.", "")
		return
	case !info.IsDir():
		e.fail(orchdir.Name+" is not a directory of its own, so nothing in it is read.",
			"Move it away, then set the workspace up anew.", "mv .orchestration .orchestration.moved && "+e.self("init"))
		return
	}
	e.initialized = true
	if parts, schemas := e.checkParts(), e.checkSchemas(); parts && schemas {
		e.ok("%s", e.Dir)
	}
}

// checkParts finds links where this program keeps files: each is refused where it is met, with a call that fails.
func (e *examination) checkParts() (fine bool) {
	fine = true
	for _, name := range []string{"state", "cache", "trace", "archive", "seals", "state/inflight", "state/tmp", "state/approvals", "state/sessions"} {
		name = path.Join(orchdir.Name, name)
		fine = e.isDirectory(e.root, name, name) && fine
	}
	const intentMap = orchdir.Name + "/intent_map.md"
	if info, err := e.root.Lstat(intentMap); err == nil && !info.Mode().IsRegular() {
		fine = false
		e.warn(intentMap+" is not a regular file, so it is not kept.", "Move it away.", "mv "+intentMap+" "+intentMap+".moved")
	}
	return fine
}

// isDirectory says what is wrong with a directory that has a name for people.
func (e *examination) isDirectory(root *os.Root, name, shown string) bool {
	info, err := root.Lstat(name)
	if err != nil || info.IsDir() {
		return true
	}
	e.fail(shown+" is not a directory of its own, and nothing is kept behind a link.",
		"Move it away; it is made again when it is needed.", "mv "+shellword.Show(shown)+" "+shellword.Show(shown+".moved"))
	return false
}
