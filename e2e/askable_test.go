package e2e_test

import (
	"fmt"
	"strings"
)

// askable is a refusal that the operator can lift (SPEC 9), as a call that is stopped by it.
type askable struct {
	name string
	// intent is selected for the call; "" if none is.
	intent, tool string
	// call is the call about a subject, a word that no other call has. Calls of
	// several rounds differ in what they would write only.
	call func(subject string, round int) args
	// shows are texts that the operator has to be shown; %s is the subject.
	shows []string
	// took tells what became of the subject: what is there after the call of the round, and not before.
	took func(w *workspace, subject string, round int) bool
	// once says why the operator cannot approve it for the intent; "" if that is possible.
	once string
	// brief: the row stands for others where not all are tried.
	brief bool
}

// askables are all of them. The first has to be asked while nothing is selected.
func askables() []askable {
	return append(append(pathAskables(), commandAskables()...), governanceAskables()...)
}

const (
	frozen  = "frozen/%s.txt"
	tasks   = ".vscode/%s.json"
	outside = "docs/%s.md"
)

func pathAskables() []askable {
	write := func(name, intent, path, once string, shows ...string) askable {
		return askable{
			name: name, intent: intent, tool: "write_to_file", shows: append(shows, path), once: once,
			call: func(subject string, round int) args {
				return args{"path": fmt.Sprintf(path, subject), "content": fmt.Sprintf("round %d\n", round)}
			},
			took: func(w *workspace, subject string, round int) bool {
				return w.content(fmt.Sprintf(path, subject)) == fmt.Sprintf("round %d\n", round)
			},
		}
	}
	outOfScope := write("out of scope", "ASK-1", outside, "", "SCOPE_VIOLATION")
	outOfScope.brief = true
	return []askable{
		write("missing intent", "", "src/untracked-%s.txt", "no intent is selected", "MISSING_OR_INVALID_INTENT"),
		outOfScope,
		write("ignored path", "ASK-1", frozen, "", "INTENTIGNORE_PATH_BLOCKED"),
		write("program config", "ASK-1", tasks, "is protected", "APPROVAL_REQUIRED"),
		write("approve: line", "ASK-2", "src/under-%s.txt", "", "APPROVAL_REQUIRED", ".intentignore"),
		write("rule of the intent", "ASK-1", "src/ruled-%s.txt", "", "RULE_VIOLATION", "look-first", "Look first."),
		write("rule of the settings", "ASK-1", "src/settled-%s.txt", "", "RULE_VIOLATION", "of-the-house"),
		write("hook", "ASK-1", "src/hooked-%s.txt", "", "the script asks"),
		write("two reasons", "ASK-1", "docs/ruled-%s.md", "", "SCOPE_VIOLATION", "RULE_VIOLATION", "everywhere"),
		{
			name: "patch of several files", intent: "ASK-1", tool: "apply_patch",
			shows: []string{"SCOPE_VIOLATION", "docs/%s-1.md", "INTENTIGNORE_PATH_BLOCKED", "frozen/%s-2.txt", "src/%s-3.txt"},
			call: func(subject string, round int) args {
				var patch strings.Builder
				for _, name := range patched(subject) {
					if round == 1 {
						fmt.Fprintf(&patch, "*** Add File: %s\n+round 1\n", name)
					} else {
						fmt.Fprintf(&patch, "*** Update File: %s\n@@\n-round %d\n+round %d\n", name, round-1, round)
					}
				}
				return args{"patch": "*** Begin Patch\n" + patch.String() + "*** End Patch"}
			},
			took: func(w *workspace, subject string, round int) bool {
				written := 0
				for _, name := range patched(subject) {
					if w.content(name) == fmt.Sprintf("round %d\n", round) {
						written++
					}
				}
				if written != 0 && written != 3 {
					w.t.Errorf("the patch was carried out by halves: %d of 3 files", written)
				}
				return written == 3
			},
		},
	}
}

func patched(subject string) []string {
	return []string{"docs/" + subject + "-1.md", "frozen/" + subject + "-2.txt", "src/" + subject + "-3.txt"}
}

func commandAskables() []askable {
	// Each round appends a line.
	run := func(name, line, file string, shows ...string) askable {
		return askable{
			name: name, intent: "ASK-1", tool: "execute_command", shows: append(shows, "COMMAND_BLOCKED", line+" >> "+file),
			call: func(subject string, _ int) args { return args{"command": line + " >> " + fmt.Sprintf(file, subject)} },
			took: func(w *workspace, subject string, round int) bool {
				return w.content(fmt.Sprintf(file, subject)) == strings.Repeat("1\n", round)
			},
		}
	}
	marked := run("command marked ask", "seq 1", "src/asked-%s.txt", `the rule "seq"`)
	marked.brief = true
	return []askable{
		marked,
		run("command that no rule names", "expr 0 + 1", "src/unnamed-%s.txt", "commands.default"),
		run("command that cannot be judged", "$(echo seq) 1", "src/unjudged-%s.txt", "cannot be known"),
	}
}

const intentsFile = ".orchestration/active_intents.yaml"

func governanceAskables() []askable {
	has := func(text string) func(*workspace, string, int) bool {
		return func(w *workspace, subject string, _ int) bool {
			return strings.Contains(w.content(intentsFile), fmt.Sprintf(text, subject))
		}
	}
	status := func(status string) func(*workspace, string, int) bool {
		return func(w *workspace, subject string, _ int) bool {
			_, rest, _ := strings.Cut(w.content(intentsFile), "{id: "+subject+",")
			entry, _, _ := strings.Cut(rest, "\n")
			return strings.Contains(entry, "status: "+status)
		}
	}
	return []askable{
		{
			name: "selection", tool: "select_active_intent", shows: []string{"approvals.select_intent", "%s"}, once: "each selection",
			call: func(subject string, _ int) args { return args{"intent_id": "select-" + subject} },
			took: func(w *workspace, subject string, round int) bool {
				return status("IN_PROGRESS")(w, "select-"+subject, round)
			},
		},
		{
			name: "update_intent", tool: "update_intent", shows: []string{"APPROVAL_REQUIRED", "%s", "DONE"}, once: "each change of the intents",
			call: func(subject string, _ int) args { return args{"intent_id": "end-" + subject, "status": "DONE"} },
			took: func(w *workspace, subject string, round int) bool { return status("DONE")(w, "end-"+subject, round) },
		},
		{
			name: "propose_intent", brief: true, tool: "propose_intent", shows: []string{"New %s", "new-%s/**"}, once: "each change of the intents",
			call: func(subject string, _ int) args {
				return args{"name": "New " + subject, "owned_scope": []string{"new-" + subject + "/**"}, "description": "It is missing."}
			},
			took: has("New %s"),
		},
		{
			name: "request_scope_expansion", tool: "request_scope_expansion", shows: []string{"ASK-3", "wider-%s/**"}, once: "each change of the intents",
			call: func(subject string, _ int) args {
				return args{"intent_id": "ASK-3", "paths": []string{"wider-" + subject + "/**"}, "reason": "The work needs it."}
			},
			took: has("wider-%s/**"),
		},
	}
}

// askAboutEverything puts everything into the workspace that askables are stopped by.
func (w *workspace) askAboutEverything() {
	w.t.Helper()
	intents := `active_intents:
  - id: ASK-1
    name: Asks about much
    status: IN_PROGRESS
    owned_scope: ["src/**", "frozen/**", ".vscode/**"]
    commands: {ask: ["seq"]}
    rules:
      - {name: look-first, when: 'effect.path.startsWith("src/ruled")', action: ask, message: "Look first."}
      - {name: everywhere, when: 'effect.path.startsWith("docs/ruled")', action: ask}
  - {id: ASK-2, name: Asks about all, status: IN_PROGRESS, owned_scope: ["src/**"]}
  - {id: ASK-3, name: Is widened, status: IN_PROGRESS, owned_scope: ["lib/**"]}
`
	ignored := "frozen/**\napprove:ASK-2\n"
	for _, subject := range subjects() {
		intents += fmt.Sprintf("  - {id: select-%s, name: Selected, status: TODO, owned_scope: [\"src/**\"]}\n", subject)
		intents += fmt.Sprintf("  - {id: end-%s, name: Ended, status: IN_PROGRESS, owned_scope: [\"src/**\"]}\n", subject)
		ignored += fmt.Sprintf("approve:end-%s\n", subject)
	}
	w.write(intentsFile, intents)
	w.write(".orchestration/.intentignore", ignored)
	w.writeHome("config/orchestra-mcp/config.yaml", `
approvals: {missing_intent: ask, scope_violation: ask, ignored_path: ask, program_config: ask, select_intent: ask}
commands: {default: ask, unjudged: ask}
rules:
  - {name: of-the-house, when: 'effect.path.startsWith("src/settled")', action: ask}
hooks:
  - {event: pre, command: "sh `+w.home+`/asks.sh", tools: [Write]}
`)
	w.writeHome("asks.sh", `
case $(cat) in *src/hooked*)
	echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"the script asks"}}' ;;
esac
`)
}
