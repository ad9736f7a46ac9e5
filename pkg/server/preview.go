package server

import (
	"context"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/ask"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Preview is what a call would do to the workspace as it is now.
type Preview struct {
	// Command is the line that would run, "" for none. What it changes is not known; Files are then what the line names.
	Command string
	Files   []FilePreview
}

// FilePreview is one file of a Preview.
type FilePreview struct {
	// Path is as resolved, From where a moved file was. Op is what would become of the file.
	Path, From    string
	Op            change.Op
	Before, After ContentPreview
}

// ContentPreview is one end of a change. What is no text has a hash alone; without a file there is none.
type ContentPreview struct {
	// Hash is sha256:… of the raw bytes.
	Hash string
	// Text is as agents are shown it, and as approval.NewEdit takes it, with the file's own line ends.
	Text   string
	Binary bool
}

// Preview plans the call of a request, or the one that an edit makes of it; nil is no edit. It judges, asks, records and
// changes nothing: what the gate says of the call is only known when it is made. An error is a *refusal.Refusal: the diff
// does not fit, the file is gone, or a path is secret.
func (s *Server) Preview(ctx context.Context, r approval.Request, edit *approval.Edit) (Preview, error) {
	if edit != nil {
		r.Tool, r.Arguments = edit.Tool, edit.Arguments
	}
	arguments, err := ask.ArgumentsForNobody(r)
	if err != nil {
		return Preview{}, refusal.From(err)
	}
	effects, err := s.engine.Preview(ctx, hooks.Request{Tool: r.Tool, Arguments: arguments, Caller: session.Caller{Connection: "preview"}, Operator: true}, s.notSecret)
	if err != nil {
		return Preview{}, refusal.From(err)
	}
	var p Preview
	if effects.Command != nil {
		p.Command = effects.Command.Line
	}
	for _, f := range effects.Files {
		if f.Mutates() {
			p.Files = append(p.Files, FilePreview{f.Path, f.From, opOf(f), contentOf(f.Before), contentOf(f.After)})
		}
	}
	return p, nil
}

// opOf says of a change to the same content that nothing changes.
func opOf(f *hooks.FileEffect) change.Op {
	if f.Op == change.Modified && f.After.Hash != "" && f.Before.Hash == f.After.Hash {
		return change.Unchanged
	}
	return f.Op
}

// notSecret refuses a look at what no tool may read.
func (s *Server) notSecret(effects hooks.Effects) error {
	ignore, err := s.intents.Ignore()
	if err != nil {
		return gate.Unreadable(err)
	}
	for _, f := range effects.Files {
		for _, path := range f.Paths() {
			if rule, secret := ignore.Secret(path); secret {
				return gate.SecretPath(path, rule)
			}
		}
	}
	return nil
}

func contentOf(v change.Version) ContentPreview {
	c := ContentPreview{Hash: v.Hash}
	if v.Hash == "" {
		return c
	}
	text, err := workspace.Decode(v.Bytes)
	if c.Binary = err != nil; !c.Binary {
		c.Text = workspace.Shown(text.String)
	}
	return c
}
