package e2e_test

import (
	"fmt"
	"os"
)

// named are lines, of which the short form takes three, that have the operator asked because they write the target, each with a file that it names.
var named = []struct{ line, file string }{
	{"sh src/work.sh > " + target, "src/work.sh"},
	{"./src/work.sh > " + target, "src/work.sh"},
	{". ./src/work.sh > " + target, "src/work.sh"},
	{"bash -c '. ./src/work.sh' > " + target, "src/work.sh"},
	{"cd src && sh work.sh > ../" + target, "src/work.sh"},
	{"(cd src; env A=1 nice sh ./work.sh) > " + target, "src/work.sh"},
	{"sh < src/work.sh > " + target, "src/work.sh"},
	{"cat src/work.sh | cat > " + target, "src/work.sh"},
	{"echo 1 | xargs sh src/work.sh > " + target, "src/work.sh"},
	{"find src -maxdepth 0 -exec sh src/work.sh ';' > " + target, "src/work.sh"},
	{"true --file=src/work.sh > " + target, "src/work.sh"},
	{"sh src/../src/work.sh > " + target, "src/work.sh"},
	{"sh \"$PWD\"/x || sh 'src/work.sh' > " + target, "src/work.sh"},
	{"make -s > " + target, "Makefile"},
	{"make -s -C src > " + target, "src/Makefile"},
	{"npm run build > " + target, "package.json"},
	{"npm --prefix=src test > " + target, "src/package.json"},
}

// runs a line under an intent, where the operator cannot be asked in line.
func (s *siege) wants(session, line string) answerOf {
	s.t.Helper()
	return s.modern("alice", "execute_command", args{"session": session, "command": line}, plain())
}

func (s *siege) holds(file, text string) {
	s.t.Helper()
	s.write(file, text)
	if err := os.Chmod(s.path(file), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// swapped has each line approved and its file changed, and tells what comes of it.
func (s *siege) swapped(change func(file string), goes func(session, id, line string) string) string {
	s.t.Helper()
	session := s.selects("alice", "INT-001")
	for i, n := range named {
		if i%6 != 0 && os.Getenv("ORCHESTRA_LONG") == "" {
			continue
		}
		s.holds(n.file, "true\n")
		id := s.wants(session, n.line).id()
		s.approves(id)
		change(n.file)
		if got := goes(session, id, n.line); got != asked {
			return fmt.Sprintf("%s: %s", n.line, got)
		}
	}
	return asked
}

// contentAttacks change what a line means between the operator's yes and its run.
var contentAttacks = []attack{
	{name: "an approved line is run whose script is as it was", result: passes, does: func(s *siege) string {
		session := s.selects("alice", "INT-001")
		s.holds("src/work.sh", "echo new\n")
		s.approves(s.wants(session, named[0].line).id())
		s.holds("src/work.sh", "echo new\n")
		return s.wants(session, named[0].line).became()
	}},
	{name: "the script that an approved line names is changed, and the call made again", result: asked, does: func(s *siege) string {
		return s.swapped(func(file string) { s.holds(file, "echo changed\n") }, func(session, _, line string) string { return s.wants(session, line).became() })
	}},
	{name: "the script that an approved line names is changed, and the request resumed", result: asked, does: func(s *siege) string {
		return s.swapped(func(file string) { s.holds(file, "echo changed\n") }, func(session, id, _ string) string { return s.resumes("alice", session, id) })
	}},
	{name: "the script that an approved line names becomes a link to another", result: asked, does: func(s *siege) string {
		return s.swapped(func(file string) {
			s.holds("src/other.sh", "echo changed\n")
			if err := os.Remove(s.path(file)); err != nil {
				s.t.Fatal(err)
			}
			if err := os.Symlink(s.path("src/other.sh"), s.path(file)); err != nil {
				s.t.Fatal(err)
			}
		}, func(session, _, line string) string {
			got := s.wants(session, line).became()
			for _, n := range named { // a link can point where the next one is written
				_ = os.Remove(s.path(n.file))
			}
			return got
		})
	}},
	{name: "a script that an approved line names comes to be there", result: asked, does: func(s *siege) string {
		session := s.selects("alice", "INT-001")
		s.approves(s.wants(session, named[0].line).id())
		s.holds("src/work.sh", "echo changed\n")
		return s.wants(session, named[0].line).became()
	}},
	{name: "a state is used after the script that its line names was changed", result: asked, does: func(s *siege) string {
		session := s.selects("alice", "INT-001")
		s.holds("src/work.sh", "true\n")
		call := args{"session": session, "command": named[0].line}
		state := s.modern("alice", "execute_command", call, nil).must(asked).State
		s.holds("src/work.sh", "echo changed\n")
		return s.modern("alice", "execute_command", call, yes(state)).became()
	}},
	{name: "the script of a line that is granted for the intent is changed", result: passes, does: func(s *siege) string {
		session := s.selects("alice", "INT-001")
		s.holds("src/work.sh", "true\n")
		s.approves(s.wants(session, named[0].line).id(), "--for-intent")
		s.holds("src/work.sh", "echo changed\n")
		return s.wants(session, named[0].line).became()
	}},
	{name: "a script is changed that an approved line's script runs", result: passes, does: func(s *siege) string {
		session := s.selects("alice", "INT-001")
		s.holds("src/work.sh", "sh src/inner.sh\n")
		s.holds("src/inner.sh", "true\n")
		s.approves(s.wants(session, named[0].line).id())
		s.holds("src/inner.sh", "echo changed\n")
		return s.wants(session, named[0].line).became()
	}},
}
