//go:build unix

package scripted

import (
	"os"
	"os/exec"
	"syscall"
)

// inGroup gives a program a session of its own, so that it finds no terminal.
func inGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func endGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }
