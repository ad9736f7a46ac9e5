package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/undo"
)

// PlanUndo works out what taking records back comes to; see undo.Source. It settles what a crash left first, so that no
// change is missing from the plan, and changes nothing else.
func (s *Server) PlanUndo(ctx context.Context, r undo.Request) (*undo.Plan, error) {
	if err := s.recorder.Settle(ctx); err != nil {
		return nil, err
	}
	return s.undoSource().Plan(ctx, r)
}

func (s *Server) undoSource() undo.Source {
	return undo.Source{
		Files: s.workspace, Ledger: s.ledger, Contents: s.contents.Get, Kept: keptBounds(s.options.Settings.Undo),
		UnderWay: s.underWay, Largest: int64(s.options.Settings.Limits.FileSize),
	}
}

// keptBounds says what contents are kept.
func keptBounds(u settings.Undo) string {
	if u.KeepSize == 0 {
		return ""
	}
	bounds := fmt.Sprintf("at most %s", u.KeepSize)
	switch day := 24 * time.Hour; {
	case u.KeepAge > 0 && u.KeepAge%day == 0:
		bounds += fmt.Sprintf(", for %d days", u.KeepAge/day)
	case u.KeepAge > 0:
		bounds += fmt.Sprintf(", for %s", u.KeepAge)
	}
	return bounds
}

// underWay names the calls that have begun, here or in another process, and have no record yet.
func (s *Server) underWay() ([]undo.Touch, error) {
	begun, err := s.recorder.UnderWay(context.Background())
	var calls []undo.Touch
	for id, rec := range begun {
		calls = append(calls, undo.Touch{Record: id, IntentID: rec.IntentID, Call: rec.Call})
	}
	slices.SortFunc(calls, func(a, b undo.Touch) int { return cmp.Compare(a.Record, b.Record) })
	return calls, err
}

// Undo carries a plan out, as a call of the operator, and gives the id of its record and what people should know. An error is
// a *refusal.Refusal. It is for programs in which a person has seen the plan and agreed to it.
func (s *Server) Undo(ctx context.Context, p *undo.Plan) (recordID string, warnings []string, err error) {
	tool := undo.NewTool(s.undoSource(), p)
	engine := s.operatorEngine(hooks.PostFunc("intent-map", func(ctx context.Context, call *hooks.Call, outcome *hooks.Outcome) error {
		if call.Intents == nil {
			return nil
		}
		if _, known := call.Intents.Get(call.IntentID); !known {
			return nil
		}
		return s.maps.After(ctx, call, outcome)
	}))
	arguments, err := hooks.MakeArguments(hooks.Common{IntentID: p.IntentID})
	if err != nil {
		return "", nil, err
	}
	result := engine.Run(ctx, tool, hooks.Request{Arguments: arguments, Operator: true})
	if result.Refusal != nil {
		return "", nil, result.Refusal
	}
	return tool.Outcome().RecordID, tool.Outcome().Warnings, nil
}
