// Package native puts the tools that a client has of its own under the law of this server's tools: what a client's hook says
// of a call becomes a call of one of ours, judged by the same engine, and what the client then did is taken from the disk.
//
// # Promise
//
// A call that the client has announced is let through, asked about or denied as the same call of this server's tool would be,
// under the same intent and for the same reasons. What it changed stands in the ledger once: with what its end said of it, or,
// if that never comes, with what the next event finds. A command runs as the text that was judged, in the sandbox that was
// made for it, once. What a client says of a call counts as a read, or as the end of a change, only for a call that was let
// through before.
//
// # Non-promise
//
// Between the verdict and its own write the client resolves the path again and holds no file: neither held paths nor
// compare-and-swap are to be had for its file tools. What it writes other than it said is found, judged and noted, not
// prevented. Who runs programs as the same user, outside of every sandbox, can say what a client says.
package native

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/clienthook"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/kept"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
)

// Options are what a Desk is made of. All of it is needed but Chosen.
type Options struct {
	// Engine judges calls. It must not wait for an operator's answer.
	Engine *hooks.Engine
	Tools  tools.Families
	// Sessions find what a client's session works under.
	Sessions *session.Store
	Ledger   *ledger.Ledger
	Contents *kept.Store
	// Dir is the workspace, Home the user's home directory, both absolute; State opens .orchestration/state.
	Dir, Home string
	State     func() (*os.Root, error)
	// Program is this program, absolute, for the lines that clients run.
	Program string
	// Chosen tells the intent that a person has chosen for calls from a terminal, and whether an agent could have made it count,
	// by changing the branch; "" for none.
	Chosen func(terminal string) (intentID string, byBranch bool)
	// Operator judges what a person does.
	Operator *hooks.Engine
	// JudgedBy keeps what a call is judged by, and tells that and what it is judged on, as records have them.
	JudgedBy func(*hooks.Call) (policy string, on *record.Judged, err error)
	Clock    func() time.Time
	Logger   zerolog.Logger
}

// Desk takes the events of clients. It is safe for concurrent use.
type Desk struct {
	Options
	after *hooks.Engine
	files map[string]hooks.Tool

	settling sync.Mutex

	mu       sync.Mutex
	sessions map[string]*clientSession
	calls    map[string]*letThrough // of files, by their keys
	commands map[string]*running    // by the ids of their jobs
	loaded   bool
}

// clientSession is what is known of one session of a client.
type clientSession struct {
	turn  sync.Mutex           // held from an event to the end of what follows from it
	reads map[string]time.Time // calls that were let read, by their keys: when
	notes []string             // for the model, with the next answer
}

// New makes a Desk. It looks at nothing yet.
func New(o Options) *Desk {
	return &Desk{
		Options: o, after: o.Engine.Afterwards(), files: tools.ClientFiles(o.Tools.Files),
		sessions: map[string]*clientSession{}, calls: map[string]*letThrough{}, commands: map[string]*running{},
	}
}

// Take answers an event. What follows from it is done by the function that it returns, when the answer is on its way.
// terminal names the terminal that the client runs in.
func (d *Desk) Take(ctx context.Context, e clienthook.Event, terminal string) (answer clienthook.Answer, follow func()) {
	if e.Session == "" {
		return d.deny(e, errNoSession()), func() {}
	}
	d.load()
	s := d.session(e)
	s.turn.Lock()
	switch e.Phase {
	case clienthook.Before:
		d.choose(ctx, e, terminal)
		answer = d.before(ctx, s, e)
	case clienthook.After, clienthook.Failed:
	default:
		return clienthook.Answer{}, func() {
			defer s.turn.Unlock()
			d.lookAround(e)
		}
	}
	switch {
	case e.Phase != clienthook.Before:
		answer.Note = d.withNotes(s, answer.Note)
	case answer.Verdict == clienthook.Deny: // other answers before a call reach no model
		answer.Reason = d.withNotes(s, answer.Reason)
	}
	return answer, func() {
		defer s.turn.Unlock()
		if e.Phase != clienthook.Before {
			d.made(s, e)
		}
		d.lookAround(e)
	}
}

// tell has the model of a client's session told something with the next answer that reaches it.
func (d *Desk) tell(e clienthook.Event, note string) {
	s := d.session(e)
	d.mu.Lock()
	defer d.mu.Unlock()
	s.notes = append(s.notes, "orchestra-mcp: "+note)
}

func (d *Desk) withNotes(s *clientSession, text string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range s.notes {
		if text != "" {
			text += "\n"
		}
		text += n
	}
	s.notes = nil
	return text
}

// maxSessions bounds those that are remembered. Of one that is forgotten, reads under way do not count as seen.
const maxSessions = 1000

func (d *Desk) session(e clienthook.Event) *clientSession {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := string(e.Client) + " " + e.Session
	s := d.sessions[name]
	if s == nil {
		if len(d.sessions) >= maxSessions {
			clear(d.sessions)
		}
		s = &clientSession{reads: map[string]time.Time{}}
		d.sessions[name] = s
	}
	return s
}

// caller is who makes the calls of a client's session.
func caller(e clienthook.Event) session.Caller {
	c := session.Caller{
		Connection: "hook " + string(e.Client) + " " + e.Session, Lasting: true,
		ClientName: string(e.Client), ClientVersion: e.Version,
	}
	if e.Model != "" {
		c.ModelID, c.ModelSource = e.Model, session.ModelOfClient
	}
	return c
}

// keyOf names a call. Where the client gives it no id, what it does is its name.
func keyOf(e clienthook.Event) string {
	name := string(e.Client) + "\x00" + e.Session + "\x00" + e.Agent + "\x00" + e.Call
	if e.Call == "" {
		name += "\x00" + e.Tool + "\x00" + string(e.Input)
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// Close ends the commands that run, and puts what is open on record as far as it has happened.
func (d *Desk) Close(ctx context.Context) {
	d.mu.Lock()
	commands := slices.Collect(maps.Values(d.commands))
	d.mu.Unlock()
	for _, r := range commands {
		r.stop()
	}
	for _, r := range commands {
		select {
		case <-r.finished:
		case <-ctx.Done():
		}
	}
}
