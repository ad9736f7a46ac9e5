package doctor

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	build "github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
)

const (
	programName = "orchestra-mcp"
	module      = "github.com/intentgov/orchestra-mcp"
)

func (e *examination) checkProgram() {
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
}

// checkSearchPath: git hooks fall back to the program on the PATH, and people type its name.
func (e *examination) checkSearchPath() {
	found := e.onPath(programName)
	switch {
	case found == "":
		e.warn("orchestra-mcp is not on your PATH, so the commands in messages do not work as they stand.",
			"Put its directory on the PATH.", `export PATH="$PATH:"`+shellword.Show(filepath.Dir(e.Executable)))
	case !sameFile(found, e.Executable):
		e.warn(fmt.Sprintf("orchestra-mcp on your PATH is another one: %s, %s.", found, describeProgram(found)),
			"Use one only: delete the other, or put the directory of this one first.", `export PATH=`+shellword.Show(filepath.Dir(e.Executable))+`":$PATH"`)
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

func sameFile(a, b string) bool {
	first, errFirst := os.Stat(a)
	second, errSecond := os.Stat(b)
	return errFirst == nil && errSecond == nil && os.SameFile(first, second)
}

// describeProgram reads what the Go toolchain put into a binary. The binary is not run: a workspace may have named it.
func describeProgram(name string) string {
	version, err := programVersion(name)
	if err != nil {
		return err.Error()
	}
	return "version " + version
}

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
