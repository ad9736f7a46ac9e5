package tools

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// guards refuses what no scope and no operator opens.
func (r *rehearsal) guards() error {
	if locks := r.before.Locks(); r.exit != 0 && len(locks) > 0 {
		return r.locked(locks)
	}
	if len(r.guarded) > 0 {
		return r.never(".git/"+r.guarded[0], "would change .git/%s, which no command may.", r.guarded[0])
	}
	if r.exit != 0 && r.git.Fetches && len(r.changes) == 0 && len(r.remotes) == 0 { // another time it may go on, where nothing is open for it
		return r.typed(refusal.Newf(refusal.CommandBlocked, "%s failed when it was rehearsed, with exit code %d: %s", r.git.First, r.exit, clip(strings.TrimSpace(r.output), 2000)))
	}
	before, after := r.before.Ledger(), r.after.Ledger()
	for name, id := range before {
		if after[name] != id {
			return r.never(".git/"+name, "would move %s, which only orchestra-mcp moves.", name)
		}
	}
	for _, name := range observe.ResumedFiles() {
		was, _ := r.before.Own.Read(name, observe.MaxTodo)
		now, err := r.after.Own.Read(name, observe.MaxTodo)
		if err != nil && !r.after.Own.Find(name).There {
			continue
		}
		if reason := observe.Resumed(".git/"+name, string(was), string(now), err == nil); reason != "" {
			return r.never(".git/"+name, "would stop midway and leave .git/%s: %s.", name, reason)
		}
	}
	return r.secrets()
}

// secrets finds a secret path that git was kept from: it stands in git's errors, wherever the line sends them and whatever
// it does behind them.
func (r *rehearsal) secrets() error {
	if !r.call.Ignore.Kinds().Secrets || !r.after.Own.Find(gitEvents).There {
		return nil
	}
	events, err := r.after.Own.Read(gitEvents, maxEvents)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(events) {
		var event struct{ Event, Msg string }
		if json.Unmarshal(line, &event) != nil || event.Event != "error" {
			continue
		}
		if err := r.secretIn(event.Msg); err != nil {
			return err
		}
	}
	return nil
}

// secretIn refuses a message that names a secret path.
func (r *rehearsal) secretIn(message string) error {
	for _, word := range strings.FieldsFunc(message, func(c rune) bool { return strings.ContainsRune(" \t\n'\":", c) }) {
		word = strings.TrimPrefix(word, r.where.Root+"/")
		if path.IsAbs(word) {
			continue
		}
		if rule, is := r.call.Ignore.Secret(word); is {
			return r.typed(gate.SecretPath(word, rule))
		}
	}
	return nil
}

// gitEvents is the file in the layer of git's own directory to which a rehearsed git tells what it does, in the event format
// of its trace2, a JSON object a line (git 2.22). maxEvents bounds it, in bytes: some 7,000 commits of a rebase.
const (
	gitEvents = "ORCHESTRA_EVENTS"
	maxEvents = 64 << 20
)
