package scaffold

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Placeholder is the description of a first intent that nobody has said anything about.
const Placeholder = "Placeholder of orchestra-mcp init: nobody has said yet what this work is for. Say it here, and narrow the scope to it."

// IsPlaceholder: the description is still the placeholder, or the one that earlier versions wrote.
func IsPlaceholder(description string) bool {
	return strings.Contains(description, Placeholder) || strings.Contains(description, "The first intent, proposed by orchestra-mcp init.")
}

// gitIgnoreText is .orchestration/.gitignore.
func gitIgnoreText(beside bool) string {
	if beside {
		return ignoredState + ignoredLedger + ignoredMap
	}
	return ignoredState + ignoredMap
}

const ignoredState = `# Written by orchestra-mcp. Both directories belong to this machine, not to the repository.
/state/
/cache/
`

const ignoredLedger = `# The ledger stands beside the tree, in git's own directory, and travels in refs/orchestra/ledger: what is here leads there.
/agent_trace.jsonl
/trace/
/archive/
`

const ignoredMap = `# Made from the ledger by servers: two branches that had it would conflict at each merge.
/intent_map.md
`

//go:embed intentignore
var ignoreText string

//go:embed intents.yaml
var intentsHeader string

// renderIntents is the first content of active_intents.yaml.
func renderIntents(opts Options) ([]byte, error) {
	intent := opts.Intent
	var text strings.Builder
	text.WriteString(intentsHeader)
	for i, field := range []struct {
		key   string
		value any
	}{
		{"id", intent.ID}, {"name", intent.Name}, {"status", "IN_PROGRESS"}, {"description", intent.Description},
	} {
		lines, err := renderField(field.key, field.value)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			lines = "  - " + strings.TrimPrefix(lines, "    ")
		}
		text.WriteString(lines)
	}
	text.WriteString("    # Globs relative to the workspace: * stays within one directory, ** crosses them, {a,b} are alternatives.\n")
	if err := appendFields(&text, intent, opts.Detection); err != nil {
		return nil, err
	}
	return []byte(text.String()), nil
}

func appendFields(text *strings.Builder, intent FirstIntent, found Detection) error {
	scope, err := renderField("owned_scope", intent.Scope)
	if err != nil {
		return err
	}
	text.WriteString(scope)
	text.WriteString("    # Told to the agent with the intent:\n" +
		"    # constraints: [\"Use the standard library where it serves\"]\n" +
		"    # acceptance_criteria: [\"Unit tests pass\"]\n")
	fmt.Fprintf(text, "    started_at: %s\n", intent.StartedAt.UTC().Format(time.RFC3339))
	if verify := found.verifyCommands(); len(verify) > 0 {
		lines, err := renderField("verify", verify)
		if err != nil {
			return err
		}
		text.WriteString("    # Commands that must pass before the intent can be marked done:\n" + lines)
	}
	text.WriteString("    # Programs with argument prefixes; the strictest match over a command line wins:\n")
	fmt.Fprintf(text, "    # commands: {allow: [%s], ask: [\"git commit\"], deny: [\"git push\"], network: deny}\n",
		quoteList(append(found.programs(), "git status", "git diff")))
	return nil
}

// renderField writes one field of an intent as YAML, indented to stand in the list.
func renderField(key string, value any) (string, error) {
	var block bytes.Buffer
	encoder := yaml.NewEncoder(&block)
	encoder.SetIndent(2)
	if err := encoder.Encode(map[string]any{key: value}); err != nil {
		return "", fmt.Errorf("write %s as YAML: %w", key, err)
	}
	var indented strings.Builder
	for line := range strings.Lines(block.String()) {
		if line != "\n" {
			indented.WriteString("    ")
		}
		indented.WriteString(line)
	}
	return indented.String(), nil
}

func (d Detection) verifyCommands() []string {
	var commands []string
	for _, toolchain := range d.Toolchains {
		if toolchain.Verify != "" {
			commands = append(commands, toolchain.Verify)
		}
	}
	return unique(commands)
}

func (d Detection) programs() []string {
	var programs []string
	for _, toolchain := range d.Toolchains {
		programs = append(programs, toolchain.Programs...)
	}
	return unique(programs)
}

func quoteList(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = fmt.Sprintf("%q", word)
	}
	return strings.Join(quoted, ", ")
}
