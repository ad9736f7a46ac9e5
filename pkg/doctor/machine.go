package doctor

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	build "github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/staging"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const (
	programName = "orchestra-mcp"
	module      = "github.com/intentgov/orchestra-mcp"
)

func (e *examination) checkProgram() string {
	e.ok("orchestra-mcp %s, %s", e.Version, e.Executable)
	e.checkSearchPath()
	// A clock behind the program's own making, or behind 2026, dates records wrongly and lets approvals live too long.
	made, err := time.Parse(time.RFC3339, build.Read().Time)
	if err != nil {
		made = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if now := e.Now(); now.Before(made.Add(-24 * time.Hour)) {
		e.fail(fmt.Sprintf("The clock says %s, which is before this program was made: records and approvals get wrong times.",
			now.UTC().Format(time.RFC3339)), "Set the system's clock.", "timedatectl set-ntp true")
	}
	return ""
}

// checkSearchPath: git hooks fall back to the program on the PATH, and people type its name.
func (e *examination) checkSearchPath() {
	found, here := e.onPath(programName), shellword.Show(filepath.Dir(e.Executable))
	switch {
	case e.Launch.NPX() || e.Launch.Container(): // messages name it as it was started
	case found == "":
		e.warn("orchestra-mcp is not on your PATH, so the commands in messages do not work as they stand.",
			"Put its directory on the PATH.", `export PATH="$PATH:"`+here)
	case !clientsetup.Same(found, e.Executable):
		which, err := programVersion(found)
		if which = "version " + which; err != nil {
			which = err.Error()
		}
		e.warn(fmt.Sprintf("orchestra-mcp on your PATH is another one: %s, %s.", found, which),
			"Use one only: delete the other, or put the directory of this one first.", `export PATH=`+here+`":$PATH"`)
	}
}

// onPath searches the PATH of Options.Environ.
func (e *examination) onPath(name string) string {
	list, _ := e.lookup("PATH")
	if e.OS == "windows" {
		name += ".exe"
	}
	for _, dir := range filepath.SplitList(list) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found
		}
	}
	return ""
}

// programVersion reads what the Go toolchain put into a binary. The binary is not run: a workspace may have named it.
func programVersion(name string) (string, error) {
	file, _, err := durable.OpenRegular(name)
	if errors.Is(err, durable.ErrNotRegular) {
		return "", fmt.Errorf("not a program")
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	found, err := buildinfo.Read(file)
	if err != nil || found.Main.Path != module {
		return "", fmt.Errorf("not a build of orchestra-mcp")
	}
	if found.Main.Version == "" || found.Main.Version == "(devel)" {
		return "devel", nil
	}
	return found.Main.Version, nil
}

// checkSandbox says at which level agents' commands run here, and why not at a higher one.
func (e *examination) checkSandbox() string {
	level, err := e.sandbox.Level()
	if e.sandbox.Off {
		return e.warn("The settings turn the sandbox off: a command of an agent can read and write whatever you can.",
			"Leave `sandbox` out of the settings; `best`, the default, takes the highest level that works here.", "")
	}
	probe := sandbox.Probe
	if e.sandbox.Ability != nil {
		probe = e.sandbox.Ability
	}
	ability := probe()
	switch {
	case err != nil:
		e.warn(fmt.Sprintf("The settings require sandbox level %s, and this machine has %s, so no command of an agent runs: %s.",
			e.sandbox.AtLeast, level, whyNot(ability)), "Set `sandbox: best` in your own settings, or give the machine what it lacks.", "")
	case level == sandbox.Full:
		e.ok("agents' commands run at sandbox level full (Landlock ABI %d)", ability.ABI)
		e.checkLayers()
		if ability.NoUnix != nil {
			e.warn(fmt.Sprintf("Agents' commands have no Unix sockets on this machine but connected pairs, so programs that talk to each other by them "+
				"do not work there: %v.", ability.NoUnix), "Let the machine allow what is named, or live without: nothing is less safe by it.", "")
		}
	case level == sandbox.Seatbelt:
		e.warn("Agents' commands run at sandbox level seatbelt: a trial on this machine found that macOS holds them to what their intent allows. "+
			"Apple documents neither the rules nor what they hold, so what a command changed is looked for as if nothing had held it, and lines that hide what they run are asked about.",
			"`sandbox: require` refuses commands below the level full. A program that makes a sandbox of its own (swift build, browsers) fails there.", "")
	case level == sandbox.Landlock:
		lacking := ability.Lacks() // what an older kernel leaves open
		if lacking != "" {
			lacking = " On this kernel also: " + lacking + "."
		}
		e.warn(fmt.Sprintf("Agents' commands run at sandbox level landlock (ABI %d): they can write only what their intent allows, but "+
			"change modes and times, and reach daemons that listen on the network; of what is secret they can read what lies in a directory that they may write.%s There is no level full: %s.", ability.ABI, lacking, whyNot(ability)),
			"See docs/threat-model.md for what each level holds; `sandbox: require` refuses commands below the level full.", "")
	default:
		hint := "Set `sandbox: require` in your own settings, which refuses every command, or look at the record of what they changed."
		if e.OS == "darwin" && ability.NoSeatbelt == nil {
			hint = "Set `commands.seatbelt: true` in your own settings, to have them held where a trial finds that it works. " + hint
		}
		e.warn("Agents' commands are not confined on this machine: a command can read and write whatever you can. "+whyNot(ability)+".", hint, "")
	}
	return ""
}

// checkLayers says whether commands work on layers of their own here. Before the first command nothing is said.
func (e *examination) checkLayers() {
	if e.root == nil {
		return
	}
	if _, err := e.root.Lstat(orchdir.Name + "/state/layers"); err != nil { // which doctor does not make
		return
	}
	w, err := workspace.Open(e.Dir)
	if err == nil {
		err = errors.Join(staging.Try(w), w.Close())
	}
	if err != nil {
		e.warn(fmt.Sprintf("Agents' commands work on the workspace itself, and what they changed is found afterwards: it can have no layer (%v).", err),
			"Nothing is less safe by it at level full; `commands.stage: always` refuses such commands.", "")
		return
	}
	e.ok("agents' commands work on layers of their own, which are taken over at their end if all of it is allowed")
}

// whyNot is why there is no higher level.
func whyNot(a sandbox.Ability) string {
	if no := a.NoSeatbelt; no != nil { // which was asked for
		a.NoSeatbelt = nil
		return fmt.Sprintf("%s; level seatbelt: %v", whyNot(a), no)
	}
	if a.NoLandlock != nil && a.NoFull != nil && a.NoFull.Error() != a.NoLandlock.Error() {
		return fmt.Sprintf("level full: %v; level landlock: %v", a.NoFull, a.NoLandlock)
	}
	if a.NoFull != nil {
		return a.NoFull.Error()
	}
	return "nothing is missing"
}
