package server

import (
	"cmp"
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
	"github.com/intentgov/orchestra-mcp/internal/presence"
	"github.com/intentgov/orchestra-mcp/pkg/apps"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// viewTime bounds what a result waits for its view: one that takes longer has none.
const viewTime = time.Second

// recentChanges are the records that the board looks at: to look for the last of each intent is slow where there is none.
const recentChanges = 100

// appOf is the app that clients show beside a tool's results: of tools that show intents or the origin of files, and that go
// on with an approval. The protocol knows no app of one result alone: of every edit and command it would be an empty one
// nearly each time, and the agent calls resume_approval next where one waits.
func appOf(spec hooks.Spec) string {
	shows := []string{
		"select_active_intent", "get_active_intent", "list_intents", "query_trace",
		"propose_intent", "request_scope_expansion", "update_intent", "resume_approval",
	}
	if slices.Contains(shows, spec.Name) {
		return apps.URI
	}
	return ""
}

// appResource is the page. Everybody is given the same.
func appResource() mcpbridge.Resource {
	return mcpbridge.Resource{
		URI: apps.URI, Name: "view", Title: "Approvals, intents and blame", MIMEType: mcpbridge.AppMIMEType,
		Description: "Shows people what a call waits for, the intents, and who wrote a file. It answers nothing.",
		Read:        func(context.Context, map[string]string) (string, error) { return apps.Page(), nil },
	}
}

// viewMeta has the view of a result, for callers that show apps; nil where there is none. The call has been made: whatever
// goes wrong here costs the view, not the result.
func (s *incoming) viewMeta(ctx context.Context, call mcpbridge.Call, caller session.Caller, r hooks.Result) (meta map[string]any) {
	if !call.Caller.ShowsApps || r.InLine != nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			s.log.Error().Str("tool", call.Tool).Interface("panic", p).Bytes("stack", debug.Stack()).Msg("the view of a result panicked")
			meta = nil
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, viewTime)
	defer cancel()
	if v := s.view(ctx, call, caller, r); v != nil {
		v.Console = s.console()
		return map[string]any{apps.MetaKey: v}
	}
	return nil
}

func (s *incoming) view(ctx context.Context, call mcpbridge.Call, caller session.Caller, r hooks.Result) *apps.View {
	switch {
	case r.Refusal != nil && r.Refusal.Code() == refusal.ApprovalRequired:
		id, _ := r.Refusal.Detail("approval_id").(string)
		if request, err := s.asks.Store.Get(id); err == nil {
			return apps.Approval(request)
		}
	case r.IsError:
	case call.Tool == "query_trace":
		var about struct {
			Path     string `json:"path"`
			FilePath string `json:"file_path"`
		}
		if json.Unmarshal(call.Arguments, &about) != nil {
			return nil
		}
		return s.blameView(ctx, cmp.Or(about.Path, about.FilePath))
	case call.Tool == "select_active_intent", call.Tool == "get_active_intent", call.Tool == "list_intents":
		return s.boardView(ctx, caller)
	}
	return nil
}

// console is the address of a console of the same user that runs, "" for none.
func (s *Server) console() string {
	if s.options.UserDir == "" {
		return ""
	}
	root, err := os.OpenRoot(s.options.UserDir)
	if err != nil {
		return ""
	}
	defer root.Close()
	running, _ := presence.Servers(root)
	for _, c := range running {
		if at, err := netip.ParseAddrPort(c.Address); err == nil && at.Addr().IsLoopback() {
			return "http://" + at.String() + "/"
		}
	}
	return ""
}

func (s *incoming) boardView(ctx context.Context, caller session.Caller) *apps.View {
	set, err := s.intents.Load()
	if err != nil {
		return nil
	}
	selected := ""
	if at, err := s.sessions.Resolve(caller, s.common.Session, ""); err == nil {
		selected = at.IntentID()
	}
	changed := map[string]time.Time{}
	last, err := s.ledger.Query(ctx, record.Filter{
		Kinds: []record.Kind{record.KindMutation, record.KindCommand, record.KindRecovered}, Limit: recentChanges, Newest: true,
	})
	if err == nil { // else the board tells no times
		for _, e := range slices.Backward(last.Entries) {
			changed[e.IntentID] = e.Time
		}
	}
	return apps.Board(set, selected, changed)
}

// blameView shows a file that the caller could read, and nothing of any other. Where reads are recorded it shows none: this
// would be one that no record tells of.
func (s *Server) blameView(ctx context.Context, path string) *apps.View {
	ignore, err := s.intents.Ignore()
	if err != nil || path == "" || s.options.Settings.Ledger.RecordReads {
		return nil
	}
	t, err := s.workspace.Resolve(path)
	if err != nil {
		return nil
	}
	defer t.Close()
	if _, secret := ignore.Secret(t.Path()); secret || t.Kind() != workspace.Regular || t.Protection() == workspace.ProtectOwn {
		return nil
	}
	lines, err := blame.Workspace{Root: s.workspace.Root(), Ledger: s.ledger, Kept: s.contents.Get}.File(ctx, t.Path())
	if err != nil {
		return nil
	}
	return apps.Blame(t.Path(), lines.Lines)
}
