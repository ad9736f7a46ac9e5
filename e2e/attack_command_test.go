package e2e_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// commandAttacks have the agent give the operator's answer with the operator's own program.
var commandAttacks = []attack{
	{name: "a command runs approvals approve", result: asked, does: func(s *siege) string {
		return s.answersItself("%s", "exec env -i HOME=\"$HOME\" PATH=\"$PATH\" XDG_CONFIG_HOME=\"$XDG_CONFIG_HOME\" %s")
	}},
	{name: "a command runs approvals approve in a session of its own, without its environment", result: asked, does: func(s *siege) string {
		if runtime.GOOS != "linux" {
			s.t.Skip("ancestors are looked at on Linux only")
		}
		const clean = "env -i HOME=\"$HOME\" PATH=\"$PATH\" XDG_CONFIG_HOME=\"$XDG_CONFIG_HOME\" "
		return s.answersItself("setsid -w "+clean+"%s",
			// Its parent ends, and it belongs to the server.
			clean+"sh -c 'setsid sh -c \"sleep 0.1; %s 2>&1 | tee out\" & exit'; for i in $(seq 500); do test -s out && break; sleep 0.02; done; cat out")
	}},
	{name: "a command runs a copy of the program under another name", result: asked, does: func(s *siege) string {
		session, id := s.pends()
		out := s.runs(session, "cp '"+program+"' ./vi && ./vi approvals approve "+id+" --yes; true")
		if !strings.Contains(out, "for the operator") {
			return out
		}
		return s.brings(session, plain())
	}},
	{name: "a client's own shell runs approvals approve", result: passes, does: func(s *siege) string {
		session, id := s.pends()
		shell := exec.Command("sh", "-c", "orchestra-mcp approvals approve "+id+" --yes")
		shell.Dir = s.dir
		shell.Env = append(s.env(), "PATH="+filepath.Dir(program)+":/usr/bin:/bin")
		if out, err := shell.CombinedOutput(); err != nil {
			s.t.Fatalf("%v\n%s", err, out)
		}
		return s.brings(session, plain())
	}},
}

// answersItself has commands run approvals approve in ways, and makes the call.
func (s *siege) answersItself(ways ...string) string {
	s.t.Helper()
	session, id := s.pends()
	for _, way := range ways {
		line := fmt.Sprintf(way, program+" approvals approve "+id+" --yes") + "; true"
		if out := s.runs(session, line); !strings.Contains(out, "for the operator") {
			return "not refused: " + out
		}
	}
	return s.brings(session, plain())
}
