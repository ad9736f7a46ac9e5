package policy

import (
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// Action is what happens to a command. A greater one is stricter.
type Action int

// The actions.
const (
	Allow Action = iota
	Ask
	Deny
)

func (a Action) String() string { return [...]string{"allow", "ask", "deny"}[a] }

// Source is a set of rules from one place.
type Source struct {
	// Name says where they are from: "the settings", "INT-001".
	Name             string
	Allow, Ask, Deny []Rule
}

// Policy is what holds for a line.
type Policy struct {
	Sources []Source
	// Default is for programs that no rule names; shell builtins that neither write nor run anything pass without.
	Default Action
	// Unjudged is for what cannot be judged.
	Unjudged Action
	// Doubtful, if stricter than Unjudged, is for a line of which cannot be judged whether a rule that asks or denies concerns it.
	Doubtful Action
	// Root is the workspace, which rules with a relative path are about, and Dir where the line starts; both absolute, ""
	// where that is not known.
	Root, Dir string
}

// Restricts reports whether anything is asked about or denied: what cannot be judged can then be just that.
func (p Policy) Restricts() bool {
	return p.Default > Allow || slices.ContainsFunc(p.Sources, func(s Source) bool { return len(s.Ask)+len(s.Deny) > 0 })
}

// Verdict is what a line comes to, and why.
type Verdict struct {
	Action Action
	// Program is the simple command that decided; "" if none did.
	Program string
	// Rule is the rule that decided, and Source where it is from; both "" if none did.
	Rule, Source string
	// Unjudged is what cannot be judged, if that decided.
	Unjudged []string
}

// Judge takes the strictest of what the rules say of all programs of a line, and of what cannot be judged.
func (p Policy) Judge(line *shell.Reading) Verdict {
	verdict := Verdict{Action: Allow}
	if len(line.Unjudged) > 0 {
		verdict = Verdict{Action: p.Unjudged, Unjudged: line.Unjudged}
	}
	for _, program := range line.Programs {
		if v := p.program(program); v.Action > verdict.Action {
			verdict = v
		}
	}
	return verdict
}

func (p Policy) program(program shell.Program) Verdict {
	verdict, named := Verdict{Action: Allow, Program: program.String()}, false
	for _, source := range p.Sources {
		for action, rules := range [][]Rule{Allow: source.Allow, Ask: source.Ask, Deny: source.Deny} {
			for _, rule := range rules {
				v := Verdict{Action: Action(action), Program: program.String(), Rule: rule.String(), Source: source.Name}
				switch answer := rule.match(program, p); {
				case v.Action == Allow:
					named = named || rule.certain(program, p)
				case answer == no:
					v.Action = Allow
				case answer == perhaps:
					v.Action = min(v.Action, max(p.Unjudged, p.Doubtful))
					v.Unjudged = []string{"an argument that the rule names is not literal"}
				}
				named = named || v.Action > Allow
				if v.Action > verdict.Action {
					verdict = v
				}
			}
		}
	}
	if !named && !harmless(program) {
		verdict.Action = p.Default
	}
	return verdict
}

// harmless knows the builtins that run nothing and write nothing but what stands in a Reading, so that a default of
// deny does not need a rule for every cd.
func harmless(p shell.Program) bool {
	return shell.Among(`cd pushd popd dirs pwd echo printf true false : test [ export unset set shift return exit
		break continue read local declare typeset readonly wait jobs umask type hash ulimit times let getopts
		shopt trap eval command builtin exec mapfile readarray`, p.Path)
}
