package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

// pends has alice make the call where she cannot be asked in line, and gives the id of the request.
func (s *siege) pends() (session, id string) {
	s.t.Helper()
	session = s.selects("alice", "INT-001")
	return session, s.modern("alice", "write_to_file", writes(session), plain()).id()
}

func (s *siege) resumes(who, session, id string) string {
	s.t.Helper()
	return s.modern(who, "resume_approval", args{"session": session, "approval_id": id}, plain()).became()
}

// grant is the id of the one grant that stands.
func (s *siege) grant() string {
	s.t.Helper()
	var found []struct{ ID string }
	out := s.operator(0, "approvals", "list", "--grants", "--json")
	if err := json.Unmarshal([]byte(out), &found); err != nil || len(found) != 1 {
		s.t.Fatalf("%v: %s", err, out)
	}
	return found[0].ID
}

// resumeAttacks are on resume_approval.
var resumeAttacks = []attack{
	{name: "an approved request is resumed as it should be", result: passes, does: func(s *siege) string {
		session, id := s.pends()
		s.approves(id)
		return s.resumes("alice", session, id)
	}},
	{name: "a request is resumed before its answer", result: asked, does: func(s *siege) string {
		session, id := s.pends()
		return s.resumes("alice", session, id)
	}},
	{name: "a request is resumed twice", result: "FILE_NOT_FOUND", does: func(s *siege) string {
		session, id := s.pends()
		s.approves(id)
		s.modern("alice", "resume_approval", args{"session": session, "approval_id": id}, plain()).must(passes)
		s.unwrites(session)
		return s.resumes("alice", session, id)
	}},
	{name: "an id is resumed that nobody was given", result: "FILE_NOT_FOUND", does: func(s *siege) string {
		session, id := s.pends()
		s.approves(id)
		for _, made := range []string{"apr_" + strings.Repeat("a", 26), strings.ToUpper(id), id + ".answer", "../approvals/" + id, "grt_" + id[4:], id[:10], "."} {
			if got := s.resumes("alice", session, made); got != "FILE_NOT_FOUND" {
				return fmt.Sprintf("%s with %q", got, made)
			}
		}
		return "FILE_NOT_FOUND"
	}},
	{name: "a denied request is resumed", result: "APPROVAL_REJECTED", does: func(s *siege) string {
		session, id := s.pends()
		s.operator(0, "approvals", "deny", id, "--reason", "no")
		return s.resumes("alice", session, id)
	}},
	{name: "a denied call is made again", result: "APPROVAL_REJECTED", does: func(s *siege) string {
		session, id := s.pends()
		s.operator(0, "approvals", "deny", id, "--reason", "no")
		return s.brings(session, nil)
	}},
	{name: "a request is resumed whose answer was revoked", result: "FILE_NOT_FOUND", does: func(s *siege) string {
		session, id := s.pends()
		s.approves(id)
		s.operator(0, "approvals", "revoke", id)
		return s.resumes("alice", session, id)
	}},
	{name: "a request is resumed in another session", result: "FILE_NOT_FOUND", does: func(s *siege) string {
		_, id := s.pends()
		s.approves(id)
		return s.resumes("alice", s.selects("alice", "INT-001"), id)
	}},
	{name: "a request is resumed after the file has changed", result: asked, does: func(s *siege) string {
		session := s.selects("alice", "INT-001")
		edit := args{"session": session, "path": "docs/other.md", "old_string": "#", "new_string": "##"}
		id := s.modern("alice", "edit_file", edit, plain()).id()
		s.approves(id)
		s.write("docs/other.md", "# Another\n")
		got := s.resumes("alice", session, id)
		s.want("docs/other.md", "# Another\n")
		return got
	}},
}

// grants has the operator approve a call at a path for the intent.
func (s *siege) grants(path string) (session string) {
	s.t.Helper()
	session = s.selects("alice", "INT-001")
	call := args{"session": session, "path": path, "content": "first\n"}
	s.approves(s.modern("alice", "write_to_file", call, plain()).id(), "--for-intent")
	s.modern("alice", "write_to_file", call, plain()).must(passes)
	return session
}

// grantAttacks are on what was approved for an intent.
var grantAttacks = []attack{
	{name: "a grant is used as it should be", result: passes, does: func(s *siege) string {
		session := s.grants(target)
		return s.modern("alice", "write_to_file", writes(session), plain()).became()
	}},
	{name: "a grant is used under another intent", result: asked, does: func(s *siege) string {
		s.write(".orchestration/active_intents.yaml", strings.Replace(intentsYAML, `["docs/**"]`, `["lib/**"]`, 1))
		s.unwrites(s.grants(target))
		return s.brings(s.selects("alice", "INT-002"), plain())
	}},
	{name: "a grant is used at another path", result: asked, does: func(s *siege) string {
		return s.brings(s.grants("docs/granted.md"), plain())
	}},
	{name: "a grant is used for a patch of its path and another", result: asked, does: func(s *siege) string {
		session := s.grants("docs/granted.md")
		patch := "*** Begin Patch\n*** Update File: docs/granted.md\n@@\n-first\n+second\n*** Add File: " + target + "\n+new\n*** End Patch\n"
		return s.modern("alice", "apply_patch", args{"session": session, "patch": patch}, plain()).became()
	}},
	{name: "a grant is used through a link that stands at its path", result: asked, does: func(s *siege) string {
		session := s.grants("docs/granted.md")
		s.write("lib/other.md", "first\n")
		s.remove("docs/granted.md")
		s.link("../lib/other.md", "docs/granted.md")
		got := s.modern("alice", "edit_file", args{"session": session, "path": "docs/granted.md", "old_string": "first", "new_string": "second"}, plain()).became()
		s.want("lib/other.md", "first\n")
		return got
	}},
	{name: "a directory on the way to a granted path becomes a link", result: asked, does: func(s *siege) string {
		session := s.grants("docs/sub/granted.md")
		s.remove("docs/sub")
		s.write("lib/granted.md", "first\n")
		s.link("../lib", "docs/sub")
		got := s.modern("alice", "edit_file", args{"session": session, "path": "docs/sub/granted.md", "old_string": "first", "new_string": "second"}, plain()).became()
		s.want("lib/granted.md", "first\n")
		return got
	}},
	{name: "a program's configuration is approved for an intent", result: asked, does: func(s *siege) string {
		session := s.selects("alice", "INT-005")
		call := args{"session": session, "path": ".envrc", "content": content}
		id := s.modern("alice", "write_to_file", call, plain()).id()
		s.operator(2, "approvals", "approve", id, "--yes", "--for-intent")
		s.approves(id)
		s.modern("alice", "write_to_file", call, plain()).must(passes)
		call["content"] = "other\n"
		return s.modern("alice", "edit_file", args{"session": session, "path": ".envrc", "old_string": "new", "new_string": "other"}, plain()).became()
	}},
	{name: "a governance file or git's own is put to the operator", result: "PROTECTED_PATH", does: func(s *siege) string {
		session := s.selects("alice", "INT-005")
		for _, path := range []string{".git/config", ".orchestration/config.yaml", ".orchestration/state/approvals/x", ".intentignore"} {
			if got := s.modern("alice", "write_to_file", args{"session": session, "path": path, "content": content}, plain()).became(); got != "PROTECTED_PATH" {
				return fmt.Sprintf("%s at %s", got, path)
			}
		}
		return "PROTECTED_PATH"
	}},
	{name: "a grant is used after it was revoked", result: asked, does: func(s *siege) string {
		session := s.grants(target)
		s.operator(0, "approvals", "revoke", s.grant())
		s.unwrites(session)
		return s.brings(session, plain())
	}},
	{name: "a grant is used after its intent was done and reopened", result: asked, does: func(s *siege) string {
		s.unwrites(s.grants(target))
		s.operator(0, "intents", "done", "INT-001")
		s.operator(0, "intents", "reopen", "INT-001")
		return s.brings(s.selects("alice", "INT-001"), plain())
	}},
	{name: "a grant is used after the agent had its intent blocked and the operator started it", result: asked, does: func(s *siege) string {
		session := s.grants(target)
		s.unwrites(session)
		s.modern("alice", "update_intent", args{"session": session, "intent_id": "INT-001", "status": "BLOCKED", "note": "waiting"}, nil).must(passes)
		s.operator(0, "intents", "start", "INT-001")
		return s.brings(s.selects("alice", "INT-001"), plain())
	}},
	{name: "a grant is used after its intent was done in the file, and looked at", result: asked, does: func(s *siege) string {
		s.unwrites(s.grants(target))
		s.write(".orchestration/active_intents.yaml", strings.Replace(intentsYAML, "status: IN_PROGRESS", "status: DONE", 1))
		other := s.selects("alice", "INT-002")
		s.modern("alice", "write_to_file", args{"session": other, "path": "lib/x", "content": "x"}, plain()).must(asked)
		s.write(".orchestration/active_intents.yaml", intentsYAML)
		return s.brings(s.selects("alice", "INT-001"), plain())
	}},
	{name: "a grant is used after its intent was done and reopened in the file, between two calls", result: passes, does: func(s *siege) string {
		s.unwrites(s.grants(target))
		s.write(".orchestration/active_intents.yaml", strings.Replace(intentsYAML, "status: IN_PROGRESS", "status: DONE", 1))
		s.write(".orchestration/active_intents.yaml", intentsYAML)
		return s.brings(s.selects("alice", "INT-001"), plain())
	}},
}
