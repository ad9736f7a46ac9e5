package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
)

// A command of the agent is what alters the files here: nothing confines it, and so it can write what its user can.

const (
	requests = ".orchestration/state/approvals/"
	standing = ".orchestration/state/grants/"
)

// keeps has a command copy the state, and gives the command that puts it back.
func (s *siege) keeps(session string) (putBack string) {
	s.t.Helper()
	copied := filepath.Join(s.home, "copy")
	s.runs(session, "cp -a .orchestration/state '"+copied+"'")
	return "cp -a '" + copied + "'/. .orchestration/state/"
}

// fileAttacks are on the files in which requests, answers and grants are kept.
var fileAttacks = []attack{
	{name: "a request is altered, and resumed after the operator's yes", result: "FILE_NOT_FOUND", does: func(s *siege) string {
		session := s.selects("alice", "INT-001")
		harmless := args{"session": session, "path": "docs/harmless.md", "content": content}
		id := s.modern("alice", "write_to_file", harmless, plain()).id()
		s.approves(id)
		s.runs(session, "sed -i s,docs/harmless.md,"+target+",g "+requests+id+".json")
		return s.resumes("alice", session, id)
	}},
	{name: "a request is altered so that the operator sees something harmless", result: asked, does: func(s *siege) string {
		session, id := s.pends()
		s.runs(session, "sed -i s,"+target+",docs/harmless.md,g "+requests+id+".json")
		s.operator(1, "approvals", "show", id)
		s.operator(1, "approvals", "approve", id, "--yes")
		return s.brings(session, plain())
	}},
	{name: "the answer to one request is copied to another", result: asked, does: func(s *siege) string {
		session, id := s.pends()
		harmless := s.modern("alice", "write_to_file", args{"session": session, "path": "docs/harmless.md", "content": content}, plain()).id()
		s.approves(harmless)
		s.runs(session, "sed s/"+harmless+"/"+id+"/g "+requests+harmless+".answer.json | tee "+requests+id+".answer.json")
		if got := s.resumes("alice", session, id); got != asked {
			return got
		}
		s.runs(session, "cp "+requests+harmless+".answer.json "+requests+id+".answer.json")
		return s.brings(session, plain())
	}},
	{name: "an answer is made up", result: asked, does: func(s *siege) string {
		session, id := s.pends()
		made := `{"mac":"","body":{"id":"` + id + `","decision":"approve_once","via":"inbox","answered_at":"2020-01-01T00:00:00Z","expires_at":"2099-01-01T00:00:00Z"}}`
		s.runs(session, "echo '"+made+"' | tee "+requests+id+".answer.json")
		return s.brings(session, plain())
	}},
	{name: "a denial is turned into a yes", result: asked, does: func(s *siege) string {
		session, id := s.pends()
		s.operator(0, "approvals", "deny", id)
		s.runs(session, "sed -i s/deny/approve_once/ "+requests+id+".answer.json")
		return s.brings(session, plain())
	}},
	{name: "a denial is deleted", result: asked, does: func(s *siege) string {
		session, id := s.pends()
		s.operator(0, "approvals", "deny", id)
		s.runs(session, "rm "+requests+id+".answer.json")
		return s.brings(session, plain())
	}},
	{name: "a used answer is put back from a copy", result: asked, does: func(s *siege) string {
		session, id := s.pends()
		s.approves(id)
		putBack := s.keeps(session)
		s.modern("alice", "write_to_file", writes(session), plain()).must(passes)
		s.unwrites(session)
		s.runs(session, putBack)
		if got := s.resumes("alice", session, id); got != "FILE_NOT_FOUND" {
			return got
		}
		return s.brings(session, plain())
	}},
	{name: "a revoked grant is put back from a copy", result: asked, does: func(s *siege) string {
		session := s.grants(target)
		putBack := s.keeps(session)
		s.operator(0, "approvals", "revoke", s.grant())
		s.unwrites(session)
		s.runs(session, putBack)
		return s.brings(session, plain())
	}},
	{name: "a grant is altered to another path, or copied", result: asked, does: func(s *siege) string {
		session := s.grants("docs/granted.md")
		id := s.grant()
		other := "grt_" + strings.Repeat("a", 26)
		s.runs(session, "cd "+standing+" && cp "+id+".json "+other+".json && sed -i s,docs/granted.md,"+target+",g *.json")
		return s.brings(session, plain())
	}},
	{name: "a grant of another workspace is put here", result: asked, does: func(s *siege) string {
		other := s.elsewhere()
		other.grants(target)
		session := s.selects("alice", "INT-001")
		s.runs(session, "mkdir -p "+standing+" && cp '"+other.path(standing)+"'/* "+standing)
		return s.brings(session, plain())
	}},
	{name: "the directory of the requests becomes a link to one with a made-up answer", result: "INTERNAL_ERROR", does: func(s *siege) string {
		session, _ := s.pends()
		s.runs(session, "mv .orchestration/state/approvals moved && ln -s ../../moved .orchestration/state/approvals")
		return s.brings(session, plain())
	}},
	{name: "a command deletes the marks of what is used, and puts the answer back", result: passes, does: func(s *siege) string {
		session, id := s.pends()
		s.approves(id)
		putBack := s.keeps(session)
		s.modern("alice", "write_to_file", writes(session), plain()).must(passes)
		s.unwrites(session)
		s.runs(session, putBack+` && rm -r "$HOME"/config/orchestra-mcp/spent`)
		return s.brings(session, plain())
	}},
	{name: "a program reads the user's key, and answers with it", result: passes, does: func(s *siege) string {
		session, id := s.pends()
		root := check.Value(os.OpenRoot(s.dir))(s.t)
		defer root.Close()
		forger := approval.Open(root, approval.Options{UserDir: filepath.Join(s.home, "config", "orchestra-mcp")})
		if _, _, err := forger.Answer(id, approval.Answer{Decision: approval.Once, By: "operator", Via: approval.Inbox}); err != nil {
			s.t.Fatal(err)
		}
		return s.brings(session, plain())
	}},
}

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
	check.OK(s.t, os.Chmod(s.path(file), 0o755))
}

// swapped has each line approved and its file changed, and tells what comes of it.
func (s *siege) swapped(change func(file string), goes func(session, id, line string) string) string {
	s.t.Helper()
	session := s.selects("alice", "INT-001")
	for i, n := range named {
		if i%6 != 0 && !check.Long() {
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
			check.OK(s.t, os.Remove(s.path(file)))
			check.OK(s.t, os.Symlink(s.path("src/other.sh"), s.path(file)))
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
