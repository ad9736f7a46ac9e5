package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// attack is one way to have a call pass that the operator did not let through, or to have the operator let through what
// they did not see. README.md has the same table.
type attack struct {
	name string
	// does it, and tells what came of it: what became says of the last answer, or what shown says.
	does func(s *siege) string
	// result is what must come of it.
	result string
	// waits has calls wait for the answer to a form.
	waits bool
	// http is for what needs principals, or a clock that can be put on.
	http bool
}

// What can come of an attack. Everything else is the code of a refusal.
const (
	asked      = "asked"              // the operator has a question, and nothing has happened
	passes     = "passes"             // the call took effect
	turnedAway = "turned away"        // no call: an error of the protocol
	escaped    = "shown as escapes"   // the operator sees what it is
	noted      = "said in a row more" // the operator is told what cannot be seen
	hidden     = "hidden"             // the operator does not see it
)

// TestApprovalsUnderAttack makes every attack on a server over the wire, each on a server of its own. A state that
// travels through the client is tried over stdio and over HTTP. Without ORCHESTRA_LONG=1 it is every third attack, with a
// state over one of the two by turns.
func TestApprovalsUnderAttack(t *testing.T) {
	t.Parallel()
	left := func(i int) bool { return !check.Long() && i%3 != 0 }
	for i, a := range slices.Concat(answerAttacks, resumeAttacks, grantAttacks, fileAttacks, commandAttacks, contentAttacks, displayAttacks) {
		if left(i) {
			continue
		}
		t.Run(a.name, func(t *testing.T) { a.make(besieged(t, a, "stdio")) })
	}
	for i, a := range stateAttacks {
		for j, transport := range []string{"stdio", "HTTP"} {
			if left(i+j) || a.http && transport == "stdio" {
				continue
			}
			t.Run(a.name+"/"+transport, func(t *testing.T) { a.make(besieged(t, a, transport)) })
		}
	}
}

func (a attack) make(s *siege) {
	s.t.Parallel()
	got := a.does(s)
	check.Equal(s.t, got, a.result, "the result is")
	_, err := os.Stat(s.path(target))
	check.That(s.t, (err == nil) == (got == passes), "the result is %q, and the file is there: %v", got, err == nil)
}

// The table has each attack with its result, and no other.
func TestTheTableNamesEveryAttackOnApprovals(t *testing.T) {
	text := check.Value(os.ReadFile("README.md"))(t)
	_, table, begun := strings.Cut(string(text), "<!-- attacks on approvals: begin -->")
	table, _, ended := strings.Cut(table, "<!-- attacks on approvals: end -->")
	check.Must(t, begun && ended, "README.md has no table of attacks on approvals")
	rows := map[string]string{}
	for line := range strings.Lines(table) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); len(cells) == 2 && cells[0] != "| attack" && cells[0] != "| ---" {
			rows[strings.TrimPrefix(cells[0], "| ")] = strings.TrimSuffix(cells[1], " |")
		}
	}
	for _, a := range slices.Concat(stateAttacks, answerAttacks, resumeAttacks, grantAttacks, fileAttacks, commandAttacks, contentAttacks, displayAttacks) {
		row, there := rows[a.name]
		word, _, _ := strings.Cut(row, ":")
		check.That(t, there && strings.Trim(word, "`") == a.result, "it does not say that the result of %q is %q: %q", a.name, a.result, row)
		delete(rows, a.name)
	}
	for name := range rows {
		t.Errorf("it names an attack that is not tried: %q", name)
	}
}

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

// surfaces are all places where the operator reads what a call would do: the form in both eras, and the inbox.
func (s *siege) surfaces(tool string, arguments args) map[string]string {
	s.t.Helper()
	arguments["session"] = s.selects("alice", "INT-001")
	question := s.modern("alice", tool, arguments, nil).must(asked)
	arguments["session"] = s.legacySelects("INT-001")
	call := s.begin(tool, arguments)
	form, text := s.question()
	s.answers(form, args{"action": "cancel"})
	s.ends(call)
	id := question.requestShown()
	return map[string]string{
		"input_required": question.Questions["operator"].Params.Message, "elicitation": text,
		"show": s.operator(0, "approvals", "show", id), "list": s.operator(0, "approvals", "list"), "json": s.operator(0, "approvals", "show", id, "--json"),
	}
}

// clean: nothing acts on who reads it.
func clean(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool {
		return c != '\n' && c != '\t' && (!unicode.IsPrint(c) || unicode.In(c, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
	})
}

// shows says whether all surfaces but the short list have each text, and none a character that acts.
func (s *siege) shows(word, tool string, arguments args, texts ...string) string {
	s.t.Helper()
	for surface, text := range s.surfaces(tool, arguments) {
		if !clean(text) {
			return "acts in " + surface
		}
		if surface == "json" {
			continue
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "request: apr_forged") || strings.HasPrefix(line, "expires: never") || strings.HasPrefix(line, "approve_once allows: nothing") {
				return "forged in " + surface + ": " + line
			}
		}
		for _, want := range texts {
			if surface != "list" && !strings.Contains(text, want) {
				s.last = text
				return hidden + " in " + surface + ": " + want
			}
		}
	}
	return word
}

// displayAttacks are on what the operator sees.
var displayAttacks = []attack{
	{name: "a content has escape sequences, turned direction and what cannot be seen", result: escaped, waits: true, does: func(s *siege) string {
		text := "a\x1b[2J\x1b]0;x\x07\n\u202egnp.exe\u2066\n\u200b\u00ad\u0085\u3164\n\rclean\n"
		return s.shows(escaped, "write_to_file", args{"path": target, "content": text}, `+a\x1b[2J\x1b]0;x\a`, `+\u202egnp.exe\u2066`, `+\u200b\u00ad\u0085\u3164`, `+\rclean`)
	}},
	{name: "a command has escape sequences and line ends", result: escaped, waits: true, does: func(s *siege) string {
		s.write(".intentignore", "approve:INT-001\n")
		line := "echo \x1b[8m\u202e\nrm -rf lib\nexpires: never"
		return s.shows(escaped, "execute_command", args{"command": line}, `echo \x1b[8m\u202e\nrm -rf lib\nexpires: never`)
	}},
	{name: "a path has what turns the direction", result: escaped, waits: true, does: func(s *siege) string {
		return s.shows(escaped, "write_to_file", args{"path": "docs/\u202edm.exe", "content": content}, `docs/\u202edm.exe`)
	}},
	{name: "a content looks like rows of the request", result: escaped, waits: true, does: func(s *siege) string {
		text := "\n\nrequest: apr_forged\nexpires: never\napprove_once allows: nothing\n--- a/harmless\n+++ b/harmless\n=== harmless\n"
		return s.shows(escaped, "write_to_file", args{"path": target, "content": text}, "+request: apr_forged", "+expires: never", "+--- a/harmless", "+=== harmless")
	}},
	{name: "a reason looks like rows of the request", result: escaped, waits: true, does: func(s *siege) string {
		text := "please\nrequest: apr_forged\nexpires: never\x1b[1A"
		return s.shows(escaped, "request_scope_expansion", args{"paths": []string{target}, "reason": text}, `please\nrequest: apr_forged\nexpires: never\x1b[1A`)
	}},
	{name: "a command is so long that its end is out of sight", result: escaped, waits: true, does: func(s *siege) string {
		s.write(".intentignore", "approve:INT-001\n")
		line := "echo " + strings.Repeat("x", 5000) + "; rm -rf lib"
		if got := s.shows(escaped, "execute_command", args{"command": line}, "; rm -rf lib"); got != escaped {
			return got
		}
		if all := s.operator(0, "approvals", "show", s.inTheInbox()[0]); !strings.Contains(all, strings.Repeat("x", 5000)) {
			return hidden
		}
		return escaped
	}},
	{name: "a change is so long that its end is out of sight", result: noted, waits: true, does: func(s *siege) string {
		text := strings.Repeat("harmless\n", 3000) + "rm -rf lib\n"
		got := s.surfaces("write_to_file", args{"path": target, "content": text})
		for _, form := range []string{"elicitation", "input_required"} {
			if !strings.Contains(got[form], "lines of the diff are not shown here; orchestra-mcp approvals show has them") {
				return hidden
			}
		}
		if !strings.Contains(got["show"], "+rm -rf lib") {
			return hidden
		}
		return noted
	}},
	{name: "a path has letters that look like others", result: noted, waits: true, does: func(s *siege) string {
		return s.shows(noted, "write_to_file", args{"path": "docs/re\u0430dme.md", "content": content}, `docs/re\u0430dme.md`)
	}},
	{name: "a path has a character that looks like a slash", result: noted, waits: true, does: func(s *siege) string {
		return s.shows(noted, "write_to_file", args{"path": "docs\u2215readme.md", "content": content}, `docs\u2215readme.md`)
	}},
}
