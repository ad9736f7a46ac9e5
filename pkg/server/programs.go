package server

import (
	"context"

	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/external"
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
