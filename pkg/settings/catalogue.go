package settings

import "slices"

// key is one setting: its name in files, where it is kept, and what it may be.
type key struct {
	name  string
	doc   string
	field func(*Settings) any // a pointer to the field
	order order
	// choices are the values of a Choice.
	choices []Choice
	limits  limits
	// check refuses a value of the right type.
	check func(value any) error
	// example shows an entry of a list, in YAML.
	example string
	secret  bool
}

// catalogue returns all keys in the order in which they are documented.
func catalogue() []key {
	return slices.Concat(governanceKeys(), approvalKeys(), commandKeys(), recordKeys(), serverKeys(), programKeys())
}

func governanceKeys() []key {
	return []key{
		{name: "uninitialized", choices: []Choice{Refuse, Allow}, order: rising(Allow, Refuse),
			field: func(s *Settings) any { return &s.Uninitialized },
			doc:   "What happens to calls that change something in a workspace without active_intents.yaml. allow records them as UNTRACKED once there is a .orchestration directory; before, they have no record."},
		{name: "scope.required", order: trueIsStricter(),
			field: func(s *Settings) any { return &s.Scope.Required },
			doc:   "An intent without owned_scope allows no change at all. Otherwise it has no scope restriction, with a warning."},
		{name: "write.blind", choices: []Choice{Refuse, Allow}, order: rising(Allow, Refuse),
			field: func(s *Settings) any { return &s.Write.Blind },
			doc:   "What happens to a write_to_file over a file of which the session has not seen all lines and gives no hash."},
		{name: "diff.threshold", order: moreIsStricter(), limits: between(0.5, 1),
			field: func(s *Settings) any { return &s.Diff.Threshold },
			doc:   "How similar the text must be that a diff finds when it does not match exactly. 1 is exact matching only."},
		{name: "mutation_class", choices: []Choice{Record, Warn, Enforce}, order: rising(Record, Warn, Enforce),
			field: func(s *Settings) any { return &s.MutationClass },
			doc:   "What happens to a change that is declared a refactor and cannot be proven one. It is recorded as INTENT_EVOLUTION; warn says so in the result, enforce refuses the call."},
		{name: "tools.roo_aliases", order: neutral(),
			field: func(s *Settings) any { return &s.Tools.RooAliases },
			doc:   "Also offer edit and search_replace, other names of edit_file in Roo Code."},
		{name: "results.text", choices: []Choice{Full, Short}, order: neutral(),
			field: func(s *Settings) any { return &s.Results.Text },
			doc:   "How much of a large result stands in its text. structuredContent has all of it; short keeps a client that shows its model both from paying twice."},
		{name: "rules", order: restricts(), check: validRules,
			field:   func(s *Settings) any { return &s.Rules },
			doc:     "Conditions over every call, in CEL; action is refuse or ask. They add to those of the intents.",
			example: `{name: no-eval, when: 'effect.after.contains("eval(")', action: refuse, message: "Do not use eval."}`},
	}
}

func approvalKeys() []key {
	return []key{
		askable("approvals.scope_violation", func(s *Settings) any { return &s.Approvals.ScopeViolation },
			"A change outside the intent's scope. elicit asks if the client can ask in line, ask asks in whichever way there is."),
		askable("approvals.missing_intent", func(s *Settings) any { return &s.Approvals.MissingIntent },
			"A change without a selected intent. What is approved so is recorded as UNTRACKED."),
		askable("approvals.ignored_path", func(s *Settings) any { return &s.Approvals.IgnoredPath },
			"A change of a path that .intentignore excludes."),
		askable("approvals.program_config", func(s *Settings) any { return &s.Approvals.ProgramConfig },
			"A change of a file that makes other programs run code or grants rights (.mcp.json, .vscode/, .envrc and their like)."),
		{name: "approvals.select_intent", choices: []Choice{Never, Ask}, order: rising(Never, Ask),
			field: func(s *Settings) any { return &s.Approvals.SelectIntent },
			doc:   "Whether the operator is asked when an agent selects an intent."},
		{name: "approvals.wait", order: neutral(), limits: durationBetween("0s", "1h"),
			field: func(s *Settings) any { return &s.Approvals.Wait },
			doc:   "How long a call waits for the operator's answer before it returns APPROVAL_REQUIRED."},
		{name: "approvals.lifetime", order: lessIsStricter(), limits: durationBetween("1s", "168h"),
			field: func(s *Settings) any { return &s.Approvals.Lifetime },
			doc:   "How long an approval for one call can be used after it was given."},
	}
}

func askable(name string, field func(*Settings) any, doc string) key {
	return key{name: name, choices: []Choice{Refuse, Elicit, Ask}, order: rising(Ask, Elicit, Refuse), field: field, doc: doc}
}

func commandKeys() []key {
	return slices.Concat(commandPolicyKeys(), commandLimitKeys(), []key{
		{name: "sandbox", choices: []Choice{Off, Best, RequireLandlock, Require}, order: rising(Off, Best, RequireLandlock, Require),
			field: func(s *Settings) any { return &s.Sandbox },
			doc:   "How commands are confined: best takes the highest level that works here, require refuses commands below the full level, require-landlock below Landlock."},
		{name: "commands.network", choices: []Choice{Allow, Deny}, order: rising(Allow, Deny),
			field: func(s *Settings) any { return &s.Commands.Network },
			doc:   "Whether commands may connect. An intent can deny it for itself."},
		{name: "commands.git", choices: []Choice{Allow, Trust, Deny}, order: rising(Trust, Allow, Deny),
			field: func(s *Settings) any { return &s.Commands.Git },
			doc:   "Whether a line with a git command may write .git, without its hooks, configuration and links to other repositories. trust allows it also where the sandbox cannot tell these apart."},
		{name: "commands.writable", order: grants(),
			field:   func(s *Settings) any { return &s.Commands.Writable },
			doc:     "More places that commands may write although no scope names them, such as caches and build output. Those of known toolchains are found without this.",
			example: `"build/"`},
		{name: "commands.revert_violations", order: trueIsStricter(),
			field: func(s *Settings) any { return &s.Commands.RevertViolations },
			doc:   "Undo what a command changed out of scope. It is recorded in either case."},
		{name: "commands.env", order: grants(),
			field:   func(s *Settings) any { return &s.Commands.Env },
			doc:     "Names or globs of environment variables that commands get although they look like secrets.",
			example: `"NPM_TOKEN"`},
	})
}

func commandPolicyKeys() []key {
	return []key{
		{name: "commands.default", choices: []Choice{Allow, Ask, Deny}, order: rising(Allow, Ask, Deny),
			field: func(s *Settings) any { return &s.Commands.Default },
			doc:   "What happens to a command that no rule names."},
		{name: "commands.unjudged", choices: []Choice{Auto, Allow, Ask, Deny}, order: rising(Allow, Auto, Ask, Deny),
			field: func(s *Settings) any { return &s.Commands.Unjudged },
			doc:   "What happens to a command of which cannot be known what it runs or writes. auto allows it at an enforced sandbox level where no rule asks or denies and commands.default is allow, and asks otherwise. allow runs it whatever the rules say."},
		{name: "commands.allow", order: grants(), check: validCommandRules,
			field:   func(s *Settings) any { return &s.Commands.Allow },
			doc:     "Commands that pass, by program and first arguments. With match and not_match, lines that the rule must and must not match are checked when it is loaded.",
			example: `{prefix: "go test", match: ["go test ./..."], not_match: ["go run ."]}`},
		{name: "commands.ask", order: restricts(), check: validCommandRules,
			field:   func(s *Settings) any { return &s.Commands.Ask },
			doc:     "Commands that the operator is asked about. The strictest of all matching rules holds.",
			example: `"npm install"`},
		{name: "commands.deny", order: restricts(), check: validCommandRules,
			field:   func(s *Settings) any { return &s.Commands.Deny },
			doc:     "Commands that are refused.",
			example: `"git push"`},
	}
}

func commandLimitKeys() []key {
	return []key{
		{name: "commands.timeout", order: lessIsStricter(), limits: durationBetween("1s", "24h"),
			field: func(s *Settings) any { return &s.Commands.Timeout },
			doc:   "When a command ends for which the agent gives no timeout."},
		{name: "commands.max_timeout", order: lessIsStricter(), limits: durationBetween("1s", "24h"),
			field: func(s *Settings) any { return &s.Commands.MaxTimeout },
			doc:   "The longest timeout that an agent can ask for."},
		{name: "commands.output_cap", order: lessIsStricter(), limits: sizeBetween(64<<10, 16<<30),
			field: func(s *Settings) any { return &s.Commands.OutputCap },
			doc:   "How much of one command's output is kept for read_command_output."},
		{name: "commands.output_total", order: lessIsStricter(), limits: sizeBetween(1<<20, 1<<40),
			field: func(s *Settings) any { return &s.Commands.OutputTotal },
			doc:   "How much output is kept in all; the oldest goes first."},
		{name: "commands.max_processes", order: lessIsStricter(), limits: atLeastOne(),
			field: func(s *Settings) any { return &s.Commands.MaxProcesses },
			doc:   "How many processes one command can have at a time. Where the kernel counts them, threads count too."},
	}
}

func recordKeys() []key {
	return []key{
		{name: "durability", choices: []Choice{OS, Full}, order: rising(OS, Full),
			field: func(s *Settings) any { return &s.Durability },
			doc:   "full flushes a change and its record to disk before the call returns, os leaves that to the system: a power cut can lose the last ones."},
		{name: "ledger.layout", choices: []Choice{Single, Sessions}, order: neutral(),
			field: func(s *Settings) any { return &s.Ledger.Layout },
			doc:   "One ledger file, or one a session, which never conflict in git."},
		{name: "ledger.git", choices: []Choice{Ref, Tree, Off}, order: neutral(),
			field: func(s *Settings) any { return &s.Ledger.Git },
			doc:   "How the ledger of a new workspace travels with git: ref keeps it beside the tree and carries it in refs/orchestra/ledger, tree commits it as a file, off keeps it beside the tree and carries it nowhere. A ledger that is in the tree stays there until orchestra-mcp ledger move."},
		{name: "ledger.withhold", order: restricts(), check: validWithheld,
			field:   func(s *Settings) any { return &s.Ledger.Withhold },
			doc:     "What of the ledger stays on this machine when the rest is sent: reads, decisions, lessons, marks. In the place of such a record goes what the chain needs, and verify counts it elsewhere. With marks, new records have no marks of lines, and one that has some stays here.",
			example: `"decisions"`},
		{name: "ledger.segment_size", order: neutral(), limits: sizeBetween(1<<20, 256<<20),
			field: func(s *Settings) any { return &s.Ledger.SegmentSize },
			doc:   "The length from which on the lines of a ledger file, but for the last eighth of it, are moved into compressed files in .orchestration/archive/."},
		{name: "ledger.record_reads", order: trueIsStricter(),
			field: func(s *Settings) any { return &s.Ledger.RecordReads },
			doc:   "Also record which files an agent has read."},
		{name: "ledger.marks", choices: []Choice{On, Off}, order: rising(Off, On),
			field: func(s *Settings) any { return &s.Ledger.Marks },
			doc:   "A short hash of each line that a change wrote, by which blame and gate know it again when somebody has edited the lines around it or indented it. Who has the ledger can find out by trying whether a certain line was written; files that a secret: rule covers have none."},
		{name: "ledger.on_failure", choices: []Choice{Refuse, Degraded}, order: rising(Degraded, Refuse),
			field: func(s *Settings) any { return &s.Ledger.OnFailure },
			doc:   "What happens to changes when the ledger cannot be written. degraded lets them through, with a warning and a counted gap, which verify finds until a seal of yours covers it."},
		{name: "undo.keep_size", order: fixed(), limits: sizeBetween(0, 1<<40),
			field: func(s *Settings) any { return &s.Undo.KeepSize },
			doc:   "How much disk the contents before and after changes take, from which undo restores and blame reads; the oldest go first. With 0 none are kept, and both have only what git has."},
		{name: "undo.keep_age", order: fixed(), limits: durationBetween("1h", "87600h"),
			field: func(s *Settings) any { return &s.Undo.KeepAge },
			doc:   "How long these contents are kept."},
		{name: "brain.file", order: fixed(), check: validBrainFile,
			field: func(s *Settings) any { return &s.Brain.File },
			doc:   "The Markdown file of the workspace that keeps lessons, decisions and constraints, such as CLAUDE.md."},
		{name: "lessons.failed_checks", order: neutral(),
			field: func(s *Settings) any { return &s.Lessons.FailedChecks },
			doc:   "Note what a check finds as a lesson on the file (docs/brain.md says how such notes are bounded)."},
		{name: "lessons.failed_commands", order: neutral(),
			field: func(s *Settings) any { return &s.Lessons.FailedCommands },
			doc:   "Note a command that fails as a lesson."},
		{name: "lessons.refused_calls", order: neutral(),
			field: func(s *Settings) any { return &s.Lessons.RefusedCalls },
			doc:   "Note a call that the rules of the workspace refused as a lesson."},
	}
}

func serverKeys() []key {
	return slices.Concat(transportKeys(), []key{
		{name: "session.idle", order: lessIsStricter(), limits: durationBetween("1m", "8760h"),
			field: func(s *Settings) any { return &s.Session.Idle },
			doc:   "How long a session handle lives without a call."},
		{name: "limits.file_size", order: lessIsStricter(), limits: sizeBetween(1<<10, 1<<30),
			field: func(s *Settings) any { return &s.Limits.FileSize },
			doc:   "The largest file that the file tools read or write."},
		{name: "limits.request_size", order: lessIsStricter(), limits: sizeBetween(64<<10, 1<<30),
			field: func(s *Settings) any { return &s.Limits.RequestSize },
			doc:   "The largest message that a client may send."},
		{name: "limits.context_size", order: neutral(), limits: sizeBetween(1<<10, 1<<20),
			field: func(s *Settings) any { return &s.Limits.ContextSize },
			doc:   "The largest context that select_active_intent returns."},
		{name: "limits.rate", order: lessIsStricter(), limits: atLeastOne(),
			field: func(s *Settings) any { return &s.Limits.Rate },
			doc:   "How many requests a second one client may send over HTTP."},
		{name: "log.level", choices: []Choice{LevelDebug, LevelInfo, LevelWarn, LevelError}, order: neutral(),
			field: func(s *Settings) any { return &s.Log.Level },
			doc:   "What is logged on standard error."},
	})
}

func transportKeys() []key {
	return []key{
		{name: "transport", choices: []Choice{TransportStdio, TransportHTTP, TransportSSE}, order: fixed(),
			field: func(s *Settings) any { return &s.Transport },
			doc:   "How clients connect. sse is for older clients."},
		{name: "auth.token", order: fixed(), check: validToken, secret: true,
			field: func(s *Settings) any { return &s.Auth.Token },
			doc:   "The bearer token of the HTTP transports, at least 16 characters. If it is empty one is made, kept in the file token beside your own settings, and shown on standard error at each start."},
		{name: "http.listen", order: fixed(), check: validListen,
			field: func(s *Settings) any { return &s.HTTP.Listen },
			doc:   "Address and port of the HTTP transports. An address that is not loopback needs TLS or http.insecure."},
		{name: "http.allowed_hosts", order: grants(),
			field:   func(s *Settings) any { return &s.HTTP.AllowedHosts },
			doc:     "Host headers that are accepted beside the loopback, the address that the client reached, and the names in http.listen and in the TLS certificate. A name without a port stands for every port.",
			example: `"mcp.example.com"`},
		{name: "http.allowed_origins", order: grants(),
			field:   func(s *Settings) any { return &s.HTTP.AllowedOrigins },
			doc:     "Origins of web pages that may connect, beside those of the server itself.",
			example: `"https://app.example.com"`},
		{name: "http.tls_cert", order: fixed(),
			field: func(s *Settings) any { return &s.HTTP.TLSCert },
			doc:   "File with the certificate chain in PEM form; with http.tls_key it turns on TLS."},
		{name: "http.tls_key", order: fixed(),
			field: func(s *Settings) any { return &s.HTTP.TLSKey },
			doc:   "File with the private key in PEM form."},
		{name: "http.insecure", order: falseIsStricter(),
			field: func(s *Settings) any { return &s.HTTP.Insecure },
			doc:   "Listen without TLS on an address that is not loopback."},
	}
}

func programKeys() []key {
	return []key{
		{name: "checks", order: programs(), check: validChecks,
			field:   func(s *Settings) any { return &s.Checks },
			doc:     "Programs that look at files after a change of one that paths, a scope glob, matches; an exit code other than 0 means problems, and the output goes back to the agent. Each runs once a call, for commands.timeout at most.",
			example: `{paths: "**/*.go", command: "go vet ./..."}`},
		{name: "hooks", order: programs(), check: validHooks,
			field:   func(s *Settings) any { return &s.Hooks },
			doc:     "Programs that are asked before a call (event pre) or told after it (event post), in the JSON shape of Claude Code's hooks (docs/hooks.md). tools are names or patterns of names, ours (write_to_file) or that shape's (Write|Edit); without them it is all that change something. A call waits for a hook as long as its timeout says, 10m at most, and 1m without one.",
			example: `{event: pre, command: "~/.orchestra-hooks/guard.sh", tools: ["Write|Edit", Bash], timeout: 10s}`},
	}
}
