package scaffold

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
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
func renderIntents(opts Options) []byte {
	intent := opts.Intent
	var verify, programs []string
	for _, toolchain := range opts.Detection.Toolchains {
		programs = append(programs, toolchain.Programs...)
		if toolchain.Verify != "" {
			verify = append(verify, toolchain.Verify)
		}
	}
	text := intentsHeader + "  - " + strings.TrimPrefix(field("id", intent.ID), "    ") +
		field("name", intent.Name) + field("status", "IN_PROGRESS") + field("description", intent.Description) +
		"    # Globs relative to the workspace: * stays within one directory, ** crosses them, {a,b} are alternatives.\n" +
		field("owned_scope", intent.Scope) +
		"    # Told to the agent with the intent:\n" +
		"    # constraints: [\"Use the standard library where it serves\"]\n" +
		"    # acceptance_criteria: [\"Unit tests pass\"]\n" +
		"    started_at: " + intent.StartedAt.UTC().Format(time.RFC3339) + "\n"
	if len(verify) > 0 {
		text += "    # Commands that must pass before the intent can be marked done:\n" + field("verify", unique(verify))
	}
	var allowed []string
	for _, program := range append(unique(programs), "git status", "git diff") {
		allowed = append(allowed, fmt.Sprintf("%q", program))
	}
	return []byte(text + "    # Programs with argument prefixes; the strictest match over a command line wins:\n" +
		"    # commands: {allow: [" + strings.Join(allowed, ", ") + "], ask: [\"git commit\"], deny: [\"git push\"], network: deny}\n")
}

// field writes one field of an intent as YAML, indented to stand in the list.
func field(key string, value any) string {
	var block bytes.Buffer
	encoder := yaml.NewEncoder(&block)
	encoder.SetIndent(2)
	_ = encoder.Encode(map[string]any{key: value}) // texts always encode
	var indented strings.Builder
	for line := range strings.Lines(block.String()) {
		if line != "\n" {
			indented.WriteString("    ")
		}
		indented.WriteString(line)
	}
	return indented.String()
}
