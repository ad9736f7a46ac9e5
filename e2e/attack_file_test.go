package e2e_test

import (
	"os"
	"path/filepath"
	"strings"

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
		root, err := os.OpenRoot(s.dir)
		if err != nil {
			s.t.Fatal(err)
		}
		defer root.Close()
		forger := approval.Open(root, approval.Options{UserDir: filepath.Join(s.home, "config", "orchestra-mcp")})
		if _, _, err := forger.Answer(id, approval.Answer{Decision: approval.Once, By: "operator", Via: approval.Inbox}); err != nil {
			s.t.Fatal(err)
		}
		return s.brings(session, plain())
	}},
}
