package e2e_test

import (
	"strings"
	"unicode"
)

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
