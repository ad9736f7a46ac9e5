package native

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/clienthook"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
)

// made takes what a client says that it has done.
func (d *Desk) made(s *clientSession, e clienthook.Event) {
	switch a := e.Action.(type) {
	case clienthook.Read:
		d.seen(s, e)
		return
	case clienthook.Reads:
		for _, one := range each(e, a) {
			d.seen(s, one)
		}
		return
	case clienthook.Governed, clienthook.Foreign, clienthook.Look:
		return
	case clienthook.Command:
		d.commandMade(e)
		return
	}
	d.mu.Lock()
	l := d.calls[keyOf(e)]
	d.mu.Unlock()
	switch {
	case l != nil && e.Phase == clienthook.Failed:
		d.settle(l, ended)
	case l != nil:
		d.settle(l, told)
	case e.Phase == clienthook.After:
		d.unannounced(e)
	}
}

// lookAround settles calls of the session that happened without the client saying so: it was killed, its hook was, or it says
// less than others. When the main line's turn has ended, none of its calls is under way; those of subagents may be.
func (d *Desk) lookAround(e clienthook.Event) {
	over := func(of clienthook.Event) bool {
		own := of.Session == e.Session && of.Client == e.Client
		return own && (e.Phase == clienthook.End || e.Phase == clienthook.Idle && of.Agent == "")
	}
	d.mu.Lock()
	calls := slices.SortedFunc(maps.Values(d.calls), func(a, b *letThrough) int { return a.Began.Compare(b.Began) })
	var lapsed []*running
	for _, r := range d.commands {
		if over(r.event) {
			lapsed = append(lapsed, r)
		}
	}
	d.mu.Unlock()
	for _, l := range calls {
		if l.key == keyOf(e) {
			continue // it was just let through, or settled
		}
		if over(l.Event) || d.Clock().Sub(l.Began) > callLife {
			d.settle(l, ended)
		} else {
			d.settle(l, open)
		}
	}
	for _, r := range lapsed {
		r.lapse()
	}
}

// state is what is known of a call that was let through.
type state int

const (
	open  state = iota // it may be under way
	told               // the client says that it was made, which it may say before the bytes are there
	ended              // nothing more will become of it
)

// settle records what became of a call, if anything did.
func (d *Desk) settle(l *letThrough, is state) {
	d.settling.Lock() // of two calls of one change, the second finds the record of the first
	defer d.settling.Unlock()
	var files []hooks.FileEffect
	changed := false
	for _, f := range l.Files {
		now := d.hashNow(f.Path)
		effect := hooks.FileEffect{Change: f.Change, Exists: f.Exists, Knowledge: f.Knowledge}
		effect.Before.Bytes = f.Content
		last, recorded := d.recordedSince(f.Path, l.Began)
		switch {
		case recorded && last.After.Hash == now:
			continue // another call accounts for what is there
		case recorded:
			effect.Before, effect.Exists = last.After, last.After.Hash != ""
			effect.Before.Bytes, _ = d.Contents.Get(last.After.OID)
		}
		if f.From == "" {
			changed = changed || now != effect.Before.Hash
		} else {
			changed = changed || now != "" || d.hashNow(f.From) != f.Before.Hash
		}
		if is == open && (!f.Known || now != f.After.Hash) {
			return
		}
		files = append(files, effect)
	}
	switch {
	case changed:
		d.approved(l.Event, l.Asked)
		d.record(l, files)
	case is == open, is == told && len(files) > 0:
		return
	case len(files) > 0:
		d.note(l.Event, "lapsed", "let through, and nothing of it was changed")
	}
	d.forget(l)
}

func (d *Desk) record(l *letThrough, files []hooks.FileEffect) {
	outcome := hooks.Outcome{IntentID: l.Intent, Session: l.Session, Detail: detail(l.Event), Policy: l.Policy, Judged: l.Judged}
	tool := tools.Made(d.Tools.Files, l.Name, files, outcome, func(o *hooks.Outcome) {
		var other []string
		for _, f := range o.Files {
			for _, judged := range l.Files {
				if judged.Path == f.Path && judged.Known && judged.After.Hash != f.After.Hash {
					other = append(other, f.Path)
				}
			}
		}
		if len(other) > 0 {
			o.Detail["not_as_judged"] = other
			d.tell(l.Event, "what "+l.Event.Tool+" wrote is not what was judged, in "+strings.Join(other, ", ")+
				" (the client, a formatter or a person changed it). It is recorded as it stands; read it again before you go on from it.")
		}
	})
	d.run(l.Event, tool)
}

func (d *Desk) run(e clienthook.Event, tool hooks.Tool) {
	result := d.after.Run(context.Background(), tool, hooks.Request{Tool: tool.Spec().Name, Arguments: hooks.NoArguments(), Caller: caller(e)})
	if r := result.Refusal; r != nil {
		d.Logger.Error().Str("code", string(r.Code())).Str("tool", e.Tool).Msg("what a client has changed could not be recorded: " + r.Reason())
	}
}

// unannounced records what a client says that it has changed without having asked. What the files were before is known where
// the ledger knows it; else their lines are not counted as the call's.
func (d *Desk) unannounced(e clienthook.Event) {
	d.settling.Lock()
	defer d.settling.Unlock()
	paths := slices.Clone(e.Response.Paths)
	switch a := e.Action.(type) {
	case clienthook.Write:
		paths = append(paths, a.Path)
	case clienthook.Edit:
		paths = append(paths, a.Path)
	case clienthook.Change:
		paths = append(paths, a.Paths...)
	case clienthook.Delete:
		paths = append(paths, a.Paths...)
	}
	var files []hooks.FileEffect
	for _, p := range d.paths(e, paths) {
		t, err := d.Tools.Files.Workspace.Resolve(p)
		if err != nil {
			continue // not in the workspace, or no file
		}
		effect := hooks.FileEffect{Change: change.Change{Path: t.Path()}, Exists: true, Knowledge: hooks.KnowsBySearch}
		_ = t.Close()
		same := func(f hooks.FileEffect) bool { return f.Path == effect.Path }
		if slices.ContainsFunc(files, same) {
			continue
		}
		if last, recorded := d.recordedSince(effect.Path, time.Time{}); recorded {
			if last.After.Hash == d.hashNow(effect.Path) {
				continue
			}
			effect.Before = last.After
			effect.Before.Bytes, _ = d.Contents.Get(last.After.OID)
			effect.Exists = last.After.Hash != ""
		}
		files = append(files, effect)
	}
	if len(files) == 0 {
		return
	}
	outcome := hooks.Outcome{Detail: detail(e)}
	outcome.Detail["ungoverned"], outcome.Detail["certainty"] = "the client made the call without asking", "named by the client"
	d.run(e, tools.Made(d.Tools.Files, e.Tool, files, outcome, nil))
	d.tell(e, e.Tool+" changed files without having been let through. It is recorded so.")
}

// hashNow is the hash of what stands at a path, "" for nothing.
func (d *Desk) hashNow(path string) string {
	t, err := d.Tools.Files.Workspace.Resolve(path)
	if err != nil {
		return ""
	}
	defer t.Close()
	content, err := t.Read(d.Tools.Files.Limit)
	if err != nil {
		return ""
	}
	return string(content.Hash)
}

// recordedSince is the last change of a path on record, if it was made since a time.
func (d *Desk) recordedSince(path string, since time.Time) (last change.Change, found bool) {
	result, err := d.Ledger.Query(context.Background(), record.Filter{Path: path, Kinds: record.ChangeKinds(), Since: since, Limit: 1, Newest: true})
	if err != nil || len(result.Entries) == 0 {
		return last, false
	}
	for _, c := range result.Entries[0].Changes {
		switch path {
		case c.Path:
			return c.Change, true
		case c.From:
			return change.Change{Op: change.Deleted, Path: path}, true
		}
	}
	return last, false
}
