package clientrules

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"go.starlark.net/syntax"

	"github.com/intentgov/orchestra-mcp/pkg/command/policy"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// codexRule is a prefix_rule: developers.openai.com/codex/rules, and openai/codex codex-rs/execpolicy/src/{parser,rule}.rs.
type codexRule struct {
	Answer
	pattern [][]string // the words that each token can be; never empty
}

// judgeCodex takes the strictest rule that names any command. Codex asks of its own accord before rm with force, which its
// hooks see as any command (codex-rs/shell-command/src/command_safety/is_dangerous_command.rs), and denies it in the mode
// that never asks, unless a rule allows it (codex-rs/core/src/exec_policy.rs, render_decision_for_unmatched_command).
//
// With [None] and [Allow] a hook can let the line pass: Codex evaluates what a hook made of it, and its approval policy and
// sandbox hold (codex-rs/core/src/tools/registry.rs replaces the input before the handler asks).
func judgeCodex(q Question, l *line) (Answer, error) {
	rules, err := codexRules(q)
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Verdict: None}
	programs := l.reading.Programs
	if l.plain == nil { // then Codex compares rules with the shell that runs the line
		for _, name := range []string{"bash", "zsh", "sh"} {
			programs = append(programs[:len(programs):len(programs)], shell.Program{Name: name, Path: name, Args: []shell.Arg{{Text: "-lc", Exact: true}}})
		}
	}
	for _, p := range programs {
		if l.work += compared * len(rules); l.work > maxWork {
			break
		}
		for _, r := range rules {
			if r.Verdict > Allow && r.concerns(p) {
				answer = strictest(answer, r.Answer)
			}
		}
		if forced(p) && !slices.ContainsFunc(rules, func(r codexRule) bool { return r.Verdict == Allow && r.names(p.Path, p) }) {
			ask := Answer{Verdict: Ask, Why: "Codex asks before it runs rm with force"}
			if q.Mode == "bypassPermissions" {
				ask = Answer{Verdict: Deny, Why: "Codex denies rm with force where it never asks"}
			}
			answer = strictest(answer, ask)
		}
	}
	allow, ok := l.allowed(func(c command) (Answer, bool) {
		at := slices.IndexFunc(rules, func(r codexRule) bool {
			return r.Verdict == Allow && len(c.programs) > 0 && r.names(c.programs[0].Path, c.programs[0])
		})
		if at < 0 {
			return Answer{}, false
		}
		return rules[at].Answer, true
	})
	if ok {
		answer = strictest(answer, allow)
	}
	return answer, nil
}

// names reports whether a program, called by a name, begins with the words of a rule.
func (r codexRule) names(name string, p shell.Program) bool {
	words := append([]string{name}, p.Literal()...)
	for i, token := range r.pattern {
		if i >= len(words) || !slices.Contains(token, words[i]) {
			return false
		}
	}
	return true
}

// concerns is names for a rule that restricts: also under another path, and behind the options before a subcommand.
func (r codexRule) concerns(p shell.Program) bool {
	for _, name := range r.pattern[0] {
		if path.Base(name) != p.Name {
			continue
		}
		words := make([]string, 0, len(r.pattern))
		for _, token := range r.pattern[1:] {
			words = append(words, token[0])
		}
		if r.names(name, p) || policy.Begins(p, words...) {
			return true
		}
	}
	return false
}

// forced reports whether a program is rm with force.
func forced(p shell.Program) bool {
	end := slices.IndexFunc(p.Args, func(a shell.Arg) bool { return a.Is("--") })
	if end < 0 {
		end = len(p.Args)
	}
	return p.Name == "rm" && slices.ContainsFunc(p.Args[:end], func(a shell.Arg) bool {
		return a.Text == "--force" || a.Begins("-") && !a.Begins("--") && strings.Contains(a.Text, "f")
	})
}

// codexRules reads all layers. Those of a project count for Codex only if it is trusted, so they can only restrict here.
func codexRules(q Question) (rules []codexRule, err error) {
	system := filepath.Join(q.SystemRoot, "etc/codex")
	home := cmp.Or(q.env("CODEX_HOME"), filepath.Join(q.Home, ".codex"))
	ours, err := lists(".rules", below([]string{system, home}, "rules")...)
	if err != nil {
		return nil, err
	}
	theirs, err := lists(".rules", below(q.places(), ".codex/rules")...)
	if err != nil {
		return nil, err
	}
	for i, file := range append(ours, theirs...) {
		content, err := read(file)
		if err != nil {
			return nil, err
		}
		found, err := prefixRules(content)
		if err != nil {
			return nil, unclear(file, err)
		}
		for _, r := range found {
			r.File = file
			if i < len(ours) || r.Verdict > Allow {
				rules = append(rules, r)
			}
		}
	}
	required, err := requirements(filepath.Join(system, "requirements.toml"))
	return append(rules, required...), err
}

// prefixRules reads a file of rules. It is in Starlark, of which only literal calls are read, and nothing is run: a program of
// a few words can fill the memory.
func prefixRules(content []byte) (rules []codexRule, err error) {
	const maxNesting = 20_000 // the parser recurses
	if strings.Count(string(content), "(")+strings.Count(string(content), "[")+strings.Count(string(content), "{") > maxNesting {
		return nil, errors.New("it nests too deeply")
	}
	file, err := (&syntax.FileOptions{}).Parse("", content, 0)
	if err != nil {
		return nil, err
	}
	for _, stmt := range file.Stmts {
		line, _ := stmt.Span()
		statement, _ := stmt.(*syntax.ExprStmt)
		if statement == nil {
			return nil, fmt.Errorf("line %d is not a call with literal arguments", line.Line)
		}
		name := ""
		call, _ := statement.X.(*syntax.CallExpr)
		if call != nil {
			if ident, ok := call.Fn.(*syntax.Ident); ok {
				name = ident.Name
			}
		}
		switch name {
		case "prefix_rule":
			rule, err := prefixRule(call)
			if err != nil {
				return nil, fmt.Errorf("line %d: %v", line.Line, err)
			}
			rules = append(rules, rule)
		case "network_rule", "host_executable":
		default:
			return nil, fmt.Errorf("line %d calls what is not known", line.Line)
		}
	}
	return rules, nil
}

// prefixRule reads the arguments pattern and decision, by name or in this order.
func prefixRule(call *syntax.CallExpr) (codexRule, error) {
	pattern, decision := syntax.Expr(nil), "allow"
	for i, arg := range call.Args {
		name := []string{"pattern", "decision", ""}[min(i, 2)]
		if named, ok := arg.(*syntax.BinaryExpr); ok && named.Op == syntax.EQ {
			name, arg = named.X.(*syntax.Ident).Name, named.Y
		}
		switch _, unpacked := arg.(*syntax.UnaryExpr); {
		case unpacked: // *list or **dictionary
			return codexRule{}, errors.New("the arguments are not literal")
		case name == "pattern":
			pattern = arg
		case name == "decision":
			decision = strings.Join(words(arg), " ")
		}
	}
	var tokens [][]string
	if list, ok := pattern.(*syntax.ListExpr); ok {
		for _, token := range list.List {
			tokens = append(tokens, words(token))
		}
	}
	return newCodexRule(tokens, decision)
}

// words are a literal text or those of a list; none if anything else stands there.
func words(expression syntax.Expr) (all []string) {
	elements := []syntax.Expr{expression}
	if list, ok := expression.(*syntax.ListExpr); ok {
		elements = list.List
	}
	for _, element := range elements {
		text, _ := element.(*syntax.Literal)
		if text == nil || text.Token != syntax.STRING {
			return nil
		}
		all = append(all, text.Value.(string))
	}
	return all
}

func newCodexRule(pattern [][]string, decision string) (codexRule, error) {
	verdict := map[string]Verdict{"allow": Allow, "prompt": Ask, "forbidden": Deny}[decision]
	if verdict == Unknown || len(pattern) == 0 || slices.ContainsFunc(pattern, func(token []string) bool { return len(token) == 0 }) {
		return codexRule{}, fmt.Errorf("a rule with the pattern %q and the decision %q", pattern, decision)
	}
	return codexRule{Answer{Verdict: verdict, Rule: fmt.Sprintf("prefix_rule %q %s", pattern, decision)}, pattern}, nil
}

// requirements reads the administrator's rules: openai/codex codex-rs/config/src/requirements_exec_policy.rs.
func requirements(file string) (rules []codexRule, err error) {
	var wanted struct {
		Rules struct {
			Prefix []struct {
				Pattern  []map[string]any // token or any_of
				Decision string
			} `toml:"prefix_rules"`
		} `toml:"rules"`
	}
	content, err := read(file)
	if err != nil {
		return nil, err
	}
	if err := toml.Unmarshal(content, &wanted); err != nil {
		return nil, unclear(file, err)
	}
	for _, r := range wanted.Rules.Prefix {
		var pattern [][]string
		for _, token := range r.Pattern {
			pattern = append(pattern, append(texts(token["token"]), texts(token["any_of"])...))
		}
		rule, err := newCodexRule(pattern, r.Decision)
		if err != nil {
			return nil, unclear(file, err)
		}
		rule.File = file
		rules = append(rules, rule)
	}
	return rules, nil
}
