package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// commandMode is a way in which commands run, by the workspace's settings.
type commandMode struct{ name, settings string }

func commandModes() []commandMode { return []commandMode{{name: "direct"}} }

const (
	promisedFiles = 10_000  // of the promise for one command
	manyFiles     = 100_000 // of that for the memory
	fewFiles      = 1_000
	filesPerDir   = 25
	dirsPerDir    = 100
)

// commandLine is a line that is run again and again; round has it write something else each time.
type commandLine struct {
	name  string
	line  func(round int) string
	times int
}

func (s *suite) commandLines() []commandLine {
	return []commandLine{
		{"`true`", func(int) string { return "true" }, pick(s.short, 10, 50)},
		{"one write", func(round int) string { return fmt.Sprintf("echo %d > %s", round, benchFile(0)) }, pick(s.short, 5, 30)},
		{"1,000 writes", func(round int) string {
			return fmt.Sprintf("i=0; while [ $i -lt %d ]; do echo %d.$i > %s/$((i/%d))/$i.txt; i=$((i+1)); done", fewFiles, round, filepath.Dir(filepath.Dir(benchFile(0))), filesPerDir)
		}, pick(s.short, 1, 7)},
	}
}

// measureCommand lets execute_command and a plain shell run the same lines in turn, in workspaces with few and many files, at
// the highest level that this machine has.
func measureCommand(s *suite) {
	level := sandbox.Probe().Level
	shell, err := exec.LookPath("sh")
	if err != nil {
		s.add(notMeasured("execute_command", "", "no sh"))
		return
	}
	sizes := []int{fewFiles, promisedFiles, manyFiles, 400_000}
	for _, mode := range commandModes() {
		for _, files := range sizes[:pick(s.short, 1, len(sizes))] {
			s.commandRows(mode, fmt.Sprintf("level %s, %s, %s files", level, mode.name, thousands(int64(files))), files, shell)
		}
	}
}

// commandRows are those of one workspace. The plain shell has a small one of its own: what it writes is not the server's
// to find.
func (s *suite) commandRows(mode commandMode, where string, files int, shell string) {
	dir, plain := s.filled(files), s.filled(fewFiles)
	if mode.settings != "" {
		writeFile(filepath.Join(dir, ".orchestration", "config.yaml"), mode.settings)
	}
	s.awaitFiles()
	p := s.started(dir)
	defer p.close()
	session := p.selects(intentID(0))
	first, _ := p.call("execute_command", args{"command": "true", "session": session})
	s.add(inform("the first command, "+where, ms(first), milliseconds, "with the look at everything that is there"))
	time.Sleep(time.Second) // what the first look left behind is given back
	s.commandMemory(p, where, files)
	for _, line := range s.commandLines() {
		round := 0
		taken := s.interleave(line.times,
			func() time.Duration {
				round++
				took, _ := p.call("execute_command", args{"command": line.line(round), "session": session})
				return took
			},
			timed(func() { check(s.command(plain, nil, shell, "-c", line.line(round)).Run()) }))
		name := fmt.Sprintf("execute_command of %s less a plain `sh -c`, %s", line.name, where)
		value, detail := ms(taken[0].p50()-taken[1].p50()), fmt.Sprintf("governed %s; plain %s", taken[0], taken[1])
		if line.name == "`true`" && files <= promisedFiles {
			s.add(atMost(name, value, 25, milliseconds, detail))
		} else {
			s.add(inform(name, value, milliseconds, detail))
		}
	}
}

// commandMemory is what the server of a workspace holds.
func (s *suite) commandMemory(p *peer, where string, files int) {
	name := "memory after a command, " + where
	held, err := resident(p.cmd.Process.Pid)
	switch {
	case err != nil:
		s.add(notMeasured(name, "", err.Error()))
	case files == manyFiles:
		s.add(atMost(name, held, 64, mebibytes, "VmRSS, with the program itself"))
	default:
		s.add(inform(name, held, mebibytes, "VmRSS, with the program itself"))
	}
}

// filled is a workspace with a number of files.
func (s *suite) filled(files int) string {
	dir := s.workspace(1)
	for i := range files {
		writeFile(filepath.Join(dir, benchFile(i)), "content\n")
	}
	return dir
}

func benchFile(i int) string {
	in := i / filesPerDir
	return filepath.Join("src", fmt.Sprint(in/dirsPerDir), fmt.Sprint(in%dirsPerDir), fmt.Sprintf("%d.txt", i))
}
