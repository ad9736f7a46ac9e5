//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// detach keeps what ends the hook, its group or its terminal, from ending what it starts.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
