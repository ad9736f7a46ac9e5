package server

import (
	"context"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/external"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/external/notify"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// programs are the operator's programs around calls, and what notes lessons without an agent's asking.
type programs struct {
	// agent and operator stand behind the shipped gate.
	agent, operator []hooks.Step
	post            []hooks.PostHook
	refused         func(context.Context, *hooks.Call, *refusal.Refusal) // nil: nobody looks
}

// programs makes those of the settings, which have let through only what the operator trusted. Hooks come before checks: they
// may format what these look at.
func (s *Server) programs(runner *command.Runner) (p programs, err error) {
	o := s.options.Settings
	with := external.Options{Workspace: s.workspace, Runner: runner, KeepEnv: o.Commands.Env}
	for _, h := range o.Hooks {
		if err := p.addHook(external.Hook{Command: h.Command, Tools: h.Tools, Timeout: h.Timeout}, h.Event, with); err != nil {
			return p, err
		}
	}
	notes := &observer{server: s}
	for _, c := range o.Checks {
		check := external.Check{Paths: c.Paths, Command: c.Command, Timeout: o.Commands.Timeout}
		if o.Lessons.FailedChecks {
			check.Found = notes.check(c.Command)
		}
		hook, err := external.NewCheck(check, with)
		if err != nil {
			return p, err
		}
		p.post = append(p.post, hook)
	}
	if o.Lessons.FailedCommands {
		p.post = append(p.post, notes.command())
	}
	if o.Lessons.RefusedCalls {
		p.refused = notes.refused
	}
	if len(o.Hooks)+len(o.Checks) > 0 {
		p.post = append(p.post, external.Again(s.workspace, int64(o.Limits.FileSize)))
	}
	return p, nil
}

// notifies has the operator told of requests, as the settings say; nil where they name nobody.
func (s *Server) notifies(runner *command.Runner) (func(approval.Request), error) {
	o := s.options.Settings
	if len(o.Approvals.Notify) == 0 {
		return nil, nil
	}
	var notices []notify.Notice
	for _, n := range o.Approvals.Notify {
		if err := n.Check(); err != nil {
			return nil, fmt.Errorf("settings: approvals.notify: %w", err)
		}
		notices = append(notices, notify.Notice{Command: n.Command, URL: string(n.URL)})
	}
	n := notify.New(notify.Options{
		Programs: external.Options{Workspace: s.workspace, Runner: runner, KeepEnv: o.Commands.Env}, Notices: notices, Logger: s.log,
	})
	s.ends = append(s.ends, func() error { n.Close(); return nil })
	return n.Tell, nil
}

func (p *programs) addHook(h external.Hook, event settings.Choice, with external.Options) error {
	if event == settings.EventPost {
		post, err := external.NewPost(h, with)
		p.post = append(p.post, post)
		return err
	}
	pre, err := external.NewPre(h, with)
	if err != nil {
		return err
	}
	p.agent = append(p.agent, hooks.Step{Stage: hooks.AtPlan, Hook: pre})
	p.operator = append(p.operator, hooks.Step{Stage: hooks.AtPlan, Hook: gate.OfCommands(pre)})
	return nil
}
