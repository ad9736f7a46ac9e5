package gate_test

import (
	"errors"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/command/policy"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// A rule is found however the line writes the command; the strictest of the settings and of the intent counts, and what
// cannot be judged could hide just what is denied.
func TestCommandStep(t *testing.T) {
	rules := func(list ...string) (all []policy.Rule) {
		for _, text := range list {
			r, err := policy.Parse(text)
			if err != nil {
				panic(err)
			}
			all = append(all, r)
		}
		return all
	}
	settings := func(s policy.Source) func(*world) {
		s.Name = "the settings"
		return func(w *world) { w.p.Commands.Sources = []policy.Source{s} }
	}
	with := settings(policy.Source{Deny: rules("rm -rf"), Ask: rules("mkdir")})
	for _, line := range []string{"git push", "true && /usr/bin/git -C src push", `g""it \push`, "sh -c 'echo $(git push)'", "env A=1 git push origin"} {
		decide(t, row{"RULES", "$ " + line, "COMMAND_BLOCKED", `"rule_of":"RULES"`, with})
	}
	for _, line := range []string{"npm --prefix web publish x", "mkdir src/new", "$X push", `eval "$X"`, "curl x | sh", "npm $ARGS", "a 'b"} {
		decide(t, row{"RULES", "$ " + line, "ask command", "", with})
	}
	table(t, with,
		row{"RULES", "$ touch src/made && rm -rf src", "COMMAND_BLOCKED", `"rule_of":"the settings"`, nil},
		row{"RULES", `$ git status && cat src/a.txt | head -1 && echo "$HOME"`, "PASSED", "", nil},
		row{"OFFLINE", "$ true", "COMMAND_BLOCKED", "denies the network", nil},
		row{"INT-001", "$ true", "COMMAND_BLOCKED", "The settings deny the network", func(w *world) { w.p.NetworkDenied = true }},
		row{"INT-001", "$ true", "SANDBOX_UNAVAILABLE", "", func(w *world) { w.p.Sandbox.AtLeast = sandbox.Full }},
		row{"INT-001", "$ true", "SANDBOX_UNAVAILABLE", "", func(w *world) { w.p.Sandbox.AtLeast = sandbox.Landlock }},
		row{"INT-001", "create src/a", "PASSED", "", func(w *world) { w.p.Sandbox.AtLeast = sandbox.Full }},
	)
	closed := func(w *world) {
		settings(policy.Source{Allow: rules("cat")})(w)
		w.p.Commands.Default, w.p.Commands.Unjudged, w.p.UnjudgedAuto = policy.Deny, policy.Deny, false
	}
	table(t, closed,
		row{"INT-001", "$ ls", "COMMAND_BLOCKED", "commands.default", nil},
		row{"INT-001", "$ cat a | $X", "COMMAND_BLOCKED", "", nil},
		row{"INT-001", "$ cd src && cat a.txt && echo done", "PASSED", "", nil},
		row{"INT-001", "$ X=echo && $X one", "PASSED", "", func(w *world) { w.p.Commands.Unjudged, w.p.UnjudgedAuto = policy.Allow, false }},
	)
	held := func(s policy.Source, change func(*policy.Policy)) func(*world) {
		return func(w *world) {
			settings(s)(w)
			w.p.Sandbox.Ability = func() sandbox.Ability { return sandbox.Ability{Level: sandbox.Full} }
			if change != nil {
				change(&w.p.Commands)
				w.p.UnjudgedAuto = false
			}
		}
	}
	touch := rules("touch")
	deny := func(p *policy.Policy) { p.Unjudged = policy.Deny }
	for _, line := range []string{
		"x=touch && $x src/made", `set -- touch src/made && "$@"`, "x='$(touch src/made)' && : ${x@P}", "printf -v 'a[$(touch src/made)]' x", "env -S 'touch src/made'", `flock -x src/a.txt -c "$X"`,
		"hash -p /bin/touch q && q src/made", "mapfile -C 'touch src/made' -c 1 a <<< 1", "declare -a a='($(touch src/made))'", "true && )", `echo x > "$OUT"`,
	} {
		table(t, nil,
			row{"INT-001", "$ " + line, "ask command", "", held(policy.Source{Deny: touch}, nil)},
			row{"INT-001", "$ " + line, "ask command", "", held(policy.Source{Ask: touch}, nil)},
			row{"INT-001", "$ " + line, "COMMAND_BLOCKED", "", held(policy.Source{Deny: touch}, deny)},
			row{"INT-001", "$ " + line, "COMMAND_BLOCKED", "", held(policy.Source{}, deny)},
			row{"INT-001", "$ " + line, "PASSED", "", held(policy.Source{}, nil)},
		)
	}
	places := func(w *world) {
		settings(policy.Source{Deny: rules("scripts/deploy", "/w/scripts/other", "/usr/bin/env")})(w)
		w.p.Commands.Root = "/w"
	}
	for _, line := range []string{"scripts/deploy", "./scripts/deploy", "cd scripts && ./deploy", "src/../scripts/deploy", "/w/scripts/deploy", "cd / && /w/scripts/deploy",
		"scripts/other", "cd scripts && ./other", "cd /usr && bin/env"} {
		decide(t, row{"INT-001", "$ " + line, "COMMAND_BLOCKED", "", places})
	}
	decide(t, row{"INT-001", `$ cd "$X" && ./deploy`, "ask command", "", places})
	decide(t, row{"INT-001", "$ env true && cat src/a.txt", "PASSED", "", places})
}

// TestSeatbeltIsNoEnforcedLevel: it keeps commands from the network, and to nothing else of the gate does it count as a level that holds.
func TestSeatbeltIsNoEnforcedLevel(t *testing.T) {
	seatbelt := func(least sandbox.Level) func(*world) {
		return func(w *world) {
			w.p.Sandbox.AtLeast, w.p.Sandbox.Ability = least, func() sandbox.Ability { return sandbox.Ability{Level: sandbox.Seatbelt} }
		}
	}
	table(t, func(*world) {},
		row{"OFFLINE", "$ true", "PASSED", "", seatbelt(sandbox.None)},
		row{"OFFLINE", "$ true", "COMMAND_BLOCKED", "a command could kill", func(w *world) {
			w.p.Sandbox.Ability = sandbox.WithSeatbelt(w.p.Sandbox.Ability, func() error { return errors.New("a command could kill") })
		}},
		row{"INT-001", "$ X=echo && $X one", "ask command", "", seatbelt(sandbox.None)},
		row{"INT-001", "$ true", "SANDBOX_UNAVAILABLE", `"sandbox":"seatbelt"`, seatbelt(sandbox.Landlock)},
		row{"INT-001", "$ true", "SANDBOX_UNAVAILABLE", `"sandbox":"seatbelt"`, seatbelt(sandbox.Full)},
	)
}
