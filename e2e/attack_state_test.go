package e2e_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// back is what a client of 2026-07-28 sends back with a call: a state, and what its user is said to have done.
func back(state string, answer any) args {
	return args{"requestState": state, "inputResponses": args{"operator": answer}}
}

func says(content args) args { return args{"action": "accept", "content": content} }

// yes is a state with the operator's yes.
func yes(state string) args { return back(state, says(args{"decision": "approve_once"})) }

// asks has alice ask for the target, and gives her session and the state of the question.
func (s *siege) asks() (session, state string) {
	s.t.Helper()
	session = s.selects("alice", "INT-001")
	return session, s.modern("alice", "write_to_file", writes(session), nil).must(asked).State
}

// brings makes alice's call with what she brings back.
func (s *siege) brings(session string, what args) string {
	s.t.Helper()
	return s.modern("alice", "write_to_file", writes(session), what).became()
}

// none is what a list of attempts came to: all must have been asked about.
func none(attempts []string, try func(string) string) string {
	for _, state := range attempts {
		if got := try(state); got != asked {
			return fmt.Sprintf("%s with %q", got, state)
		}
	}
	return asked
}

// flipped are a state's texts with one bit altered: of each byte the lowest, or all, or under the race detector of every eighth.
func flipped(state string) (all []string) {
	bits := check.Rounds(1, 8)
	raw, err := base64.RawURLEncoding.DecodeString(state)
	if err != nil {
		panic(err) // a state of ours is base64
	}
	step := 1
	if check.Short() {
		step = 8
	}
	for i := 0; i < len(raw); i += step {
		for bit := range bits {
			raw[i] ^= 1 << bit
			all = append(all, base64.RawURLEncoding.EncodeToString(raw))
			raw[i] ^= 1 << bit
		}
	}
	return all
}

// stateAttacks are on the state that travels through a client of 2026-07-28, and between principals.
var stateAttacks = []attack{
	{name: "a state is redeemed as it should be", result: passes, does: func(s *siege) string {
		session, state := s.asks()
		return s.brings(session, yes(state))
	}},
	{name: "a state is replayed after its use", result: asked, does: func(s *siege) string {
		session, state := s.asks()
		s.modern("alice", "write_to_file", writes(session), yes(state)).must(passes)
		s.unwrites(session)
		return s.brings(session, yes(state))
	}},
	{name: "two states of one question are both redeemed", result: asked, does: func(s *siege) string {
		session, first := s.asks()
		second := s.modern("alice", "write_to_file", writes(session), nil).must(asked).State
		s.modern("alice", "write_to_file", writes(session), yes(first)).must(passes)
		s.unwrites(session)
		return s.brings(session, yes(second))
	}},
	{name: "a state is used for the same call in another session of its principal", result: passes, does: func(s *siege) string {
		_, state := s.asks()
		return s.brings(s.selects("alice", "INT-001"), yes(state))
	}},
	{name: "a state is used under another intent", result: asked, does: func(s *siege) string {
		s.write(".orchestration/active_intents.yaml", strings.Replace(intentsYAML, `["docs/**"]`, `["lib/**"]`, 1))
		_, state := s.asks()
		return s.brings(s.selects("alice", "INT-002"), yes(state))
	}},
	{name: "a state is used for another tool", result: asked, does: func(s *siege) string {
		session, state := s.asks()
		patch := "*** Begin Patch\n*** Add File: " + target + "\n+new\n*** End Patch\n"
		return s.modern("alice", "apply_patch", args{"session": session, "patch": patch}, yes(state)).became()
	}},
	{name: "a state is used for another content", result: asked, does: func(s *siege) string {
		session, state := s.asks()
		call := writes(session)
		call["content"] = "newer\n"
		return s.modern("alice", "write_to_file", call, yes(state)).became()
	}},
	{name: "a state is used for another path", result: asked, does: func(s *siege) string {
		session := s.selects("alice", "INT-001")
		other := args{"session": session, "path": "docs/harmless.md", "content": content}
		return s.brings(session, yes(s.modern("alice", "write_to_file", other, nil).must(asked).State))
	}},
	{name: "a state is used for a path that became a link", result: asked, does: func(s *siege) string {
		session, state := s.asks()
		s.write("lib/other.md", "other\n")
		s.link("../lib", "docs/way")
		call := writes(session)
		call["path"] = "docs/way/n.md"
		return s.modern("alice", "write_to_file", call, yes(state)).became()
	}},
	{name: "a state has one bit altered", result: asked, does: func(s *siege) string {
		session, state := s.asks()
		return none(flipped(state), func(altered string) string { return s.brings(session, yes(altered)) })
	}},
	{name: "a state is cut", result: asked, does: func(s *siege) string {
		session, state := s.asks()
		cuts := []string{state[1:], state[:len(state)-1], state[:len(state)/2], state[:16], state + "A", state + "="}
		return none(cuts, func(cut string) string { return s.brings(session, yes(cut)) })
	}},
	{name: "a state is written in another way", result: asked, does: func(s *siege) string {
		session, state := s.asks()
		ways := []string{state[:9] + "\n" + state[9:], state + "\r\n", " " + state, strings.ReplaceAll(state, "-", "+") + " "}
		return none(ways, func(way string) string { return s.brings(session, yes(way)) })
	}},
	{name: "a yes comes without a state, or with an empty one", result: asked, does: func(s *siege) string {
		session, _ := s.asks()
		answer := yes("")
		delete(answer, "requestState")
		if got := s.brings(session, answer); got != asked {
			return got
		}
		return s.brings(session, yes(""))
	}},
	{name: "a state is made up, with a yes", result: asked, does: func(s *siege) string {
		session, _ := s.asks()
		plain := fmt.Sprintf(`{"i":"apr_%s","d":"sha256:%064d","p":"","e":%d}`, strings.Repeat("a", 26), 0, time.Now().Unix()+1000)
		made := []string{plain, base64.RawURLEncoding.EncodeToString([]byte(plain)), "approve_once", `{"decision":"approve_once"}`, strings.Repeat("A", 16000)}
		return none(made, func(state string) string { return s.brings(session, yes(state)) })
	}},
	{name: "a state is brought back when its time is over", result: asked, http: true, does: func(s *siege) string {
		session, state := s.asks()
		s.late.Store(int64(15 * time.Minute))
		return s.brings(session, yes(state))
	}},
	{name: "a state of one principal is used by another", result: asked, http: true, does: func(s *siege) string {
		_, state := s.asks()
		session := s.selects("bob", "INT-001")
		return s.modern("bob", "write_to_file", writes(session), yes(state)).became()
	}},
	{name: "a state is redeemed at another server of the workspace, then at its own", result: asked, does: func(s *siege) string {
		session, state := s.asks()
		if s.line == nil { // over HTTP the principals are the embedder's: another server knows none of them
			s.modern("alice", "write_to_file", writes(session), yes(state)).must(passes)
		} else {
			other := s.again()
			other.modern("alice", "write_to_file", writes(session), yes(state)).must(passes)
		}
		s.unwrites(session)
		return s.brings(session, yes(state))
	}},
	{name: "a state is used in another workspace", result: asked, does: func(s *siege) string {
		_, state := s.asks()
		other := s.elsewhere()
		return other.brings(other.selects("alice", "INT-001"), yes(state))
	}},
	{name: "a state is used after the intent has changed", result: asked, does: func(s *siege) string {
		session, state := s.asks()
		s.write(".orchestration/active_intents.yaml", strings.Replace(intentsYAML, "Serve the weather.", "Serve it.", 1))
		return s.brings(session, yes(state))
	}},
	{name: "a state is used after the file has changed", result: asked, does: func(s *siege) string {
		session := s.selects("alice", "INT-001")
		edit := args{"session": session, "path": "docs/other.md", "old_string": "#", "new_string": "##"}
		state := s.modern("alice", "edit_file", edit, nil).must(asked).State
		s.write("docs/other.md", "# Another\n")
		got := s.modern("alice", "edit_file", edit, yes(state)).became()
		s.want("docs/other.md", "# Another\n")
		return got
	}},
	{name: "a state is used after the operator denied its question", result: "APPROVAL_REJECTED", does: func(s *siege) string {
		session, state := s.asks()
		denied := s.modern("alice", "write_to_file", writes(session), nil).must(asked)
		s.operator(0, "approvals", "deny", denied.requestShown())
		return s.brings(session, yes(state))
	}},
	{name: "a state is used after a no came back with another", result: "APPROVAL_REJECTED", does: func(s *siege) string {
		session, state := s.asks()
		other := s.modern("alice", "write_to_file", writes(session), nil).must(asked).State
		s.modern("alice", "write_to_file", writes(session), back(other, args{"action": "decline"})).must("APPROVAL_REJECTED")
		return s.brings(session, yes(state))
	}},
	{name: "a state is used after what was granted is revoked", result: asked, does: func(s *siege) string {
		session, first := s.asks()
		second := s.modern("alice", "write_to_file", writes(session), nil).must(asked).State
		s.modern("alice", "write_to_file", writes(session), back(first, says(args{"decision": "approve_for_intent"}))).must(passes)
		s.unwrites(session)
		s.operator(0, "approvals", "revoke", s.grant())
		return s.brings(session, yes(second))
	}},
	{name: "a state comes back with a yes that the form did not offer", result: asked, does: func(s *siege) string {
		session := s.selects("alice", "INT-005")
		call := args{"session": session, "path": ".envrc", "content": content}
		state := s.modern("alice", "write_to_file", call, nil).must(asked).State
		return s.modern("alice", "write_to_file", call, back(state, says(args{"decision": "approve_for_intent"}))).became()
	}},
	{name: "a state comes back with what does not fit the form", result: asked, does: func(s *siege) string {
		session, state := s.asks()
		for _, answer := range misfits {
			if got := s.brings(session, back(state, answer)); got != asked {
				return fmt.Sprintf("%s with %v", got, answer)
			}
			state = s.modern("alice", "write_to_file", writes(session), nil).must(asked).State
		}
		return asked
	}},
	{name: "a state comes back with two answers, or another question's", result: turnedAway, does: func(s *siege) string {
		session, state := s.asks()
		what := args{"requestState": state, "inputResponses": args{"Operator": says(args{"decision": "approve_once"})}}
		return s.brings(session, what)
	}},
	{name: "a client that shows no forms brings back a state and a yes", result: asked, does: func(s *siege) string {
		session, state := s.asks()
		what := yes(state)
		what["_meta"] = meta(args{})
		return s.brings(session, what)
	}},
	{name: "a request is resumed when its answer has expired", result: asked, http: true, does: func(s *siege) string {
		session, id := s.pends()
		s.approves(id)
		s.late.Store(int64(16 * time.Minute))
		return s.resumes("alice", session, id)
	}},
	{name: "a request is resumed when it has expired", result: "FILE_NOT_FOUND", http: true, does: func(s *siege) string {
		_, id := s.pends()
		s.late.Store(int64(25 * time.Hour))
		return s.resumes("alice", s.selects("alice", "INT-001"), id)
	}},
	{name: "a request of one principal is resumed by another", result: "FILE_NOT_FOUND", http: true, does: func(s *siege) string {
		_, id := s.pends()
		s.approves(id)
		return s.resumes("bob", s.selects("bob", "INT-001"), id)
	}},
}

// misfits are answers that are none.
var misfits = []any{
	says(args{"decision": "approve_once", "also": "x"}),
	says(args{"decision": "Approve_once"}),
	says(args{"decision": true}),
	says(args{"decision": []string{"approve_once"}}),
	says(args{"reason": "approve_once"}),
	says(args{}),
	args{"action": "accept"},
	args{"action": "Accept", "content": args{"decision": "approve_once"}},
	args{"content": args{"decision": "approve_once"}},
	"approve_once",
	nil,
}

// requestShown is the id that the form of a question shows.
func (a answerOf) requestShown() string {
	a.siege.t.Helper()
	for line := range strings.Lines(a.Questions["operator"].Params.Message) {
		if id, ok := strings.CutPrefix(line, "request: "); ok {
			return strings.TrimSpace(id)
		}
	}
	a.siege.t.Fatalf("no request is named: %s", a.siege.last)
	return ""
}
