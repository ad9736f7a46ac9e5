package clientrules

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// geminiRule is a rule of the policy engine about the shell: google-gemini/gemini-cli docs/reference/policy-engine.md, and
// packages/core/src/policy/{toml-loader,policy-engine,config,utils}.ts.
type geminiRule struct {
	Answer
	priority float64
	args     *regexp.Regexp // over the call's arguments as JSON; nil matches all
	// conditional: it holds in some modes only, which a hook is not told.
	conditional bool
	cost        int // of a comparison, for each byte
}

// judgeGemini takes for each command the first rule by priority, and of these the strictest. A hook's allow skips nothing:
// Gemini asks its policy engine about the line that the hook gave back (packages/core/src/scheduler/scheduler.ts,
// _processToolCall).
func judgeGemini(q Question, l *line) (Answer, error) {
	rules, err := geminiRules(q)
	if err != nil {
		return Answer{}, err
	}
	slices.SortStableFunc(rules, func(a, b geminiRule) int { return cmp.Compare(b.priority, a.priority) })
	return l.decide(append([]string{l.whole}, l.said...), func(text string) (Answer, bool) {
		r := l.firstGemini(rules, text)
		return r.Answer, r.args != nil
	}), nil
}

// firstGemini is the rule for a command. One that holds in some modes only counts if it restricts certain commands: the
// others stay in force whatever the line becomes.
func (l *line) firstGemini(rules []geminiRule, text string) geminiRule {
	args := "{\x00\"command\":" + quoteJSON(text) + "\x00}"
	for _, r := range rules {
		if r.conditional && (r.Verdict == Allow || r.args == nil) {
			continue
		}
		if l.work += len(args) * max(r.cost, 1); l.work > maxWork {
			break
		}
		if r.args == nil || r.args.MatchString(args) {
			return r
		}
	}
	return geminiRule{}
}

func quoteJSON(text string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

// geminiPrefix is the expression for a command that begins with a text, as a word.
func geminiPrefix(prefix string) string {
	quoted := quoteJSON(prefix)
	return regexp.QuoteMeta(`"command":`+quoted[:len(quoted)-1]) + `(?:[\s"]|\\["nt])`
}

// The tiers of rules by where they stand, and the priorities of those that settings make.
const (
	geminiExtension, geminiWorkspace, geminiUser, geminiAdmin = 2, 3, 4, 5

	geminiExcluded, geminiConfirmed, geminiAllowed, geminiCore = 4.4, 4.35, 4.3, 4.25
)

func geminiRules(q Question) (rules []geminiRule, err error) {
	home := filepath.Join(cmp.Or(q.env("GEMINI_CLI_HOME"), q.Home), ".gemini")
	system := filepath.Join(q.SystemRoot, "etc/gemini-cli")
	extensions, err := list(filepath.Join(home, "extensions"), "")
	if err != nil {
		return nil, err
	}
	for _, tier := range []struct {
		priority float64
		dirs     []string
	}{
		{geminiExtension, below(extensions, "policies")}, {geminiWorkspace, below(q.places(), ".gemini/policies")},
		{geminiUser, below([]string{home}, "policies")}, {geminiAdmin, below([]string{system}, "policies")},
	} {
		files, err := lists(".toml", tier.dirs...)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			found, err := geminiPolicies(file, tier.priority)
			if err != nil {
				return nil, unclear(file, err)
			}
			rules = append(rules, found...)
		}
	}
	systemSettings := cmp.Or(q.env("GEMINI_CLI_SYSTEM_SETTINGS_PATH"), filepath.Join(system, "settings.json"))
	defaults := cmp.Or(q.env("GEMINI_CLI_SYSTEM_DEFAULTS_PATH"), filepath.Join(filepath.Dir(systemSettings), "system-defaults.json"))
	for _, file := range append([]string{defaults, filepath.Join(home, "settings.json"), systemSettings}, below(q.places(), ".gemini/settings.json")...) {
		found, err := geminiSettings(file)
		if err != nil {
			return nil, err
		}
		rules = append(rules, found...)
	}
	return rules, nil
}

// geminiPolicies reads a file of [[rule]]s.
func geminiPolicies(file string, tier float64) (rules []geminiRule, err error) {
	var policies struct {
		Rule []struct {
			ToolName, CommandPrefix any
			MCPName, ArgsPattern    string
			CommandRegex, Decision  string
			Priority                float64
			Modes                   []string
			Subagent                *string
			Interactive             *bool
			ToolAnnotations         map[string]any
		} `toml:"rule"`
	}
	content, err := read(file)
	if err != nil {
		return nil, err
	}
	if err := toml.Unmarshal(content, &policies); err != nil {
		return nil, err
	}
	for _, r := range policies.Rule {
		verdict := map[string]Verdict{"allow": Allow, "ask_user": Ask, "deny": Deny}[r.Decision]
		if verdict == Unknown {
			return nil, fmt.Errorf("a rule decides %q", r.Decision)
		}
		if r.MCPName != "" || !slices.ContainsFunc(texts(r.ToolName), isGeminiShell) || tier == geminiExtension && verdict == Allow {
			continue
		}
		patterns := []string{r.ArgsPattern}
		if r.CommandRegex != "" {
			patterns = []string{`"command":"` + r.CommandRegex}
		}
		if prefixes := texts(r.CommandPrefix); len(prefixes) > 0 {
			patterns = nil
			for _, prefix := range prefixes {
				patterns = append(patterns, geminiPrefix(prefix))
			}
		}
		for _, pattern := range patterns {
			rule := geminiRule{
				Answer:      Answer{Verdict: verdict, Rule: cmp.Or(pattern, "run_shell_command") + " " + r.Decision, File: file},
				priority:    tier + r.Priority/1000,
				conditional: len(r.Modes)+len(r.ToolAnnotations) > 0 || r.Subagent != nil || r.Interactive != nil,
			}
			if pattern != "" {
				if rule.args, err = regexp.Compile(pattern); err != nil {
					return nil, err
				}
				rule.cost = len(pattern)
			}
			rules = append(rules, rule)
		}
	}
	return rules, nil
}

func isGeminiShell(tool string) bool {
	return slices.Contains([]string{"run_shell_command", "ShellTool", "*"}, tool)
}

// texts are a text, or a list of them.
func texts(of any) (all []string) {
	switch of := of.(type) {
	case string:
		return []string{of}
	case []any:
		for _, one := range of {
			all = append(all, texts(one)...)
		}
	}
	return all
}

// geminiSettings makes rules of the lists of tools, in which run_shell_command(git) stands for a prefix. A list of allowed
// commands denies all others, and so does a list of core tools.
func geminiSettings(file string) (rules []geminiRule, err error) {
	var s struct {
		Tools struct {
			Exclude []string `json:"exclude"`
			Confirm []string `json:"confirmationRequired"`
			Allowed []string `json:"allowed"`
			Core    []string `json:"core"`
		} `json:"tools"`
		Exclude []string `json:"excludeTools"` // the names of old
		Allowed []string `json:"allowedTools"`
		Core    []string `json:"coreTools"`
	}
	if err := readJSON(file, &s); err != nil {
		return nil, err
	}
	core := append(s.Tools.Core, s.Core...)
	for _, group := range []struct {
		tools    []string
		verdict  Verdict
		priority float64
	}{
		{append(s.Tools.Exclude, s.Exclude...), Deny, geminiExcluded}, {s.Tools.Confirm, Ask, geminiConfirmed},
		{append(s.Tools.Allowed, s.Allowed...), Allow, geminiAllowed}, {core, Allow, geminiCore},
	} {
		for _, tool := range group.tools {
			name, prefix, narrowed := strings.Cut(strings.TrimSuffix(tool, ")"), "(")
			if !isGeminiShell(name) {
				continue
			}
			rule := geminiRule{Answer: Answer{Verdict: group.verdict, Rule: tool, File: file}, priority: group.priority}
			if narrowed {
				rule.args = regexp.MustCompile(geminiPrefix(prefix))
			}
			rules = append(rules, rule)
			if narrowed && group.priority == geminiAllowed {
				rules = append(rules, geminiRule{Answer: Answer{Verdict: Deny, Rule: tool, File: file}, priority: geminiAllowed - 0.01})
			}
		}
	}
	if core != nil {
		rules = append(rules, geminiRule{Answer: Answer{Verdict: Deny, Rule: "tools.core", File: file}, priority: geminiCore - 0.01})
	}
	return rules, nil
}
