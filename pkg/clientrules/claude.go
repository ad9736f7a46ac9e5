package clientrules

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command/policy"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// claudeSettings is what counts of a settings file: code.claude.com/docs/en/permissions, "Managed settings".
type claudeSettings struct {
	Permissions struct {
		Allow []string `json:"allow"`
		Ask   []string `json:"ask"`
		Deny  []string `json:"deny"`
	} `json:"permissions"`
	ManagedOnly bool `json:"allowManagedPermissionRulesOnly"`
}

// claudeRule is a rule about Bash.
type claudeRule struct {
	Answer
	pattern glob
	// prefix are the words before a single * at the end.
	prefix []string
	exact  bool
}

// claude are the rules of all files.
type claude struct {
	q     Question
	line  *line
	bash  []claudeRule
	files []claudeFileRule
}

func judgeClaude(q Question, l *line) (Answer, error) {
	c := &claude{q: q, line: l}
	if err := c.load(); err != nil {
		return Answer{}, err
	}
	answer := c.restricted()
	if answer.Verdict > Allow {
		return answer, nil
	}
	if q.Mode == "bypassPermissions" && !c.removesRoot() {
		return Answer{Verdict: Allow, Why: "the mode bypassPermissions asks about nothing"}, nil
	}
	// cd together with git always asks, whatever the rules say of either.
	if allow, ok := l.allowed(c.allowed); ok && !(l.runs("cd") && l.runs("git")) {
		allow.Verdict = Allow
		return allow, nil
	}
	return answer, nil
}

// load reads the files. Where only the administrator's rules count, those of others still restrict.
func (c *claude) load() error {
	managed := filepath.Join(c.q.SystemRoot, "etc/claude-code")
	more, err := list(filepath.Join(managed, "managed-settings.d"), ".json")
	if err != nil {
		return err
	}
	home := cmp.Or(c.q.env("CLAUDE_CONFIG_DIR"), filepath.Join(c.q.Home, ".claude"))
	managedFiles := append([]string{filepath.Join(managed, "managed-settings.json")}, more...)
	places, names := c.q.places(), []string{".claude/settings.json", ".claude/settings.local.json"}
	trusted := slices.Concat(managedFiles, []string{filepath.Join(home, "settings.json")}, below(places[:1], names...))
	managedOnly := false
	// Which directory Claude Code was started in is not known, so those below the workspace can only restrict.
	for i, file := range append(trusted, below(places[1:], names...)...) {
		var s claudeSettings
		if err := readJSON(file, &s); err != nil {
			return err
		}
		managedOnly = managedOnly || s.ManagedOnly && i < len(managedFiles)
		mayAllow := i < len(trusted) && (!managedOnly || i < len(managedFiles))
		for verdict, rules := range map[Verdict][]string{Allow: s.Permissions.Allow, Ask: s.Permissions.Ask, Deny: s.Permissions.Deny} {
			for _, rule := range rules {
				if verdict == Allow && !mayAllow {
					continue
				}
				if err := c.add(Answer{Verdict: verdict, Rule: rule, File: file}); err != nil {
					return unclear(file, err)
				}
			}
		}
	}
	return nil
}

// add takes a rule in: Tool, or Tool(specifier). In rules that restrict the tool can be a pattern.
func (c *claude) add(a Answer) error {
	tool, specifier, narrowed := strings.Cut(strings.TrimSpace(a.Rule), "(")
	specifier, closed := strings.CutSuffix(specifier, ")")
	switch {
	case narrowed && !closed && a.Verdict > Allow:
		return fmt.Errorf("the rule %q has no end", a.Rule)
	case narrowed && !closed:
		return nil
	case a.Verdict > Allow && (tool == "Read" || tool == "Edit"):
		return c.addFileRule(a, tool == "Edit", specifier)
	case a.Verdict == Allow && tool != "Bash" || !newGlob(tool, false, false).match("Bash"):
		return nil
	}
	if !narrowed {
		specifier = "*"
	}
	rule := claudePattern(specifier)
	rule.Answer = a
	c.bash = append(c.bash, rule)
	return nil
}

// claudePattern reads a specifier: "Wildcard patterns" of the page on permissions. ":*" at the end is " *", which also
// matches the command without arguments if it is the only wildcard.
func claudePattern(specifier string) (r claudeRule) {
	if base, ok := strings.CutSuffix(specifier, ":*"); ok {
		specifier = base + " *"
	}
	specifier = strings.TrimSpace(specifier)
	stars := strings.Count(specifier, "*")
	if base, ok := strings.CutSuffix(specifier, " *"); ok && stars == 1 {
		r.prefix = strings.Fields(base)
	}
	r.exact = stars == 0
	r.pattern = newGlob(specifier, false, stars == 1)
	return r
}

// restricted is the strictest rule that asks or denies and matches anything of the line.
func (c *claude) restricted() Answer {
	texts := slices.Concat([]string{c.line.whole}, c.line.said, c.line.meant)
	answer := strictest(c.fileRules()...)
	for _, r := range c.bash {
		c.line.work += compared * len(c.line.reading.Programs)
		if r.Verdict > answer.Verdict && r.Verdict > Allow && (c.line.any(r.pattern, texts...) || r.begins(c.line.reading.Programs)) {
			answer = r.Answer
		}
	}
	return answer
}

// begins finds a program that a rule means by its first words also behind options such as those of git -C . push.
func (r claudeRule) begins(programs []shell.Program) bool {
	return len(r.prefix) > 0 && slices.ContainsFunc(programs, func(p shell.Program) bool {
		return p.Name == r.prefix[0] && policy.Begins(p, r.prefix[1:]...)
	})
}

// allowed reports whether Claude Code runs a command without asking: each program of it, but for the wrappers that it
// looks behind ("Wrappers" of the page on permissions; of xargs nobody knows what it runs). Its exact text is enough.
func (c *claude) allowed(cmd command) (answer Answer, ok bool) {
	const wrappers = "timeout time nice nohup stdbuf command builtin"
	for i, p := range cmd.programs {
		texts := simple(p)
		if i == 0 {
			texts = append(texts, cmd.text)
		}
		at := slices.IndexFunc(c.bash, func(r claudeRule) bool {
			return r.Verdict == Allow && c.counts(r, p) && c.line.any(r.pattern, texts...)
		})
		switch {
		case at >= 0 && i == 0 && c.bash[at].exact:
			return c.bash[at].Answer, true
		case at >= 0:
			answer = c.bash[at].Answer
		case i+1 < len(cmd.programs) && shell.Among(wrappers, p.Path):
		case c.q.Mode != "auto" && readOnly(p, c.q):
			answer.Why = "Claude Code runs commands that only read without asking"
		default:
			return Answer{}, false
		}
	}
	return answer, len(cmd.programs) > 0
}

// counts reports whether an allow rule can be about a program: what runs others needs the exact text, and in the mode auto
// broad rules are set aside (code.claude.com/docs/en/permission-modes).
func (c *claude) counts(r claudeRule, p shell.Program) bool {
	careful := shell.Among("watch setsid ionice flock", p.Name) || p.Name == "find" && slices.ContainsFunc(p.Args, actsInFind)
	return r.exact || !careful && c.q.Mode != "auto"
}

// simple is a program as a person would write it, if that needs no quotes.
func simple(p shell.Program) []string {
	words := append([]string{p.Path}, p.Literal()...)
	if slices.ContainsFunc(words, func(w string) bool { return w == "" || strings.ContainsAny(w, " \t\n'\"\\$`|&;<>()*?[]{}~#!") }) {
		return nil
	}
	return []string{strings.Join(words, " ")}
}

// removesRoot finds what asks in every mode: rm of the root or the home directory, or of what the line does not show.
func (c *claude) removesRoot() bool {
	return slices.ContainsFunc(c.line.reading.Programs, func(p shell.Program) bool {
		return shell.Among("rm rmdir", p.Name) && (len(p.Literal()) < len(p.Args) ||
			slices.ContainsFunc(operands(p, c.q.Cwd), func(at string) bool { return within(at, c.q.Home) }))
	})
}
