//go:build unix

package command

import (
	"os/exec"
	"path/filepath"
	"strings"
)

// Shell returns the program that Run starts and the dialect in which it reads a command: "bash", or "posix" for sh.
// Fixed places come before PATH, which can name directories that an agent writes to.
func Shell() (path, dialect string, err error) {
	for _, candidate := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "bash", "/bin/sh", "sh"} {
		found, err := exec.LookPath(candidate)
		if err != nil || !filepath.IsAbs(found) {
			continue
		}
		if filepath.Base(candidate) == "bash" {
			return found, "bash", nil
		}
		return found, "posix", nil
	}
	return "", "", ErrNoShell
}

// shellCommand is the shell with the line as its only code. A line that begins with a dash or a plus would be read as
// an option; a blank before it changes nothing else, and works in every shell, unlike "--".
func shellCommand(shell, line string) *exec.Cmd {
	if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+") {
		line = " " + line
	}
	return exec.Command(shell, "-c", line)
}
