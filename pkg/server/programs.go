package server

import (
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/external"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// addPrograms puts the operator's programs behind the gate and behind the
// calls. Settings have let through only what the operator trusted. Hooks come
// before checks: they may format what these look at.
func (s *Server) addPrograms(runner *command.Runner) error {
	o := s.options.Settings
	with := external.Options{Workspace: s.workspace, Runner: runner, KeepEnv: o.Commands.Env}
	if err := s.addHooks(with); err != nil {
		return err
	}
	if err := s.addChecks(with); err != nil {
		return err
	}
	if len(o.Hooks)+len(o.Checks) > 0 {
		s.engine.AddProgram(external.Again(s.workspace, int64(o.Limits.FileSize)))
	}
	return nil
}

// addChecks also adds what notes lessons without an agent's asking.
func (s *Server) addChecks(with external.Options) error {
	o := s.options.Settings
	notes := &observer{server: s}
	for _, c := range o.Checks {
		check := external.Check{Paths: c.Paths, Command: c.Command, Timeout: o.Commands.Timeout}
		if o.Lessons.FailedChecks {
			check.Found = notes.check(c.Command)
		}
		hook, err := external.NewCheck(check, with)
		if err != nil {
			return err
		}
		s.engine.AddProgram(hook)
	}
	if o.Lessons.FailedCommands {
		s.engine.AddProgram(notes.command())
	}
	if o.Lessons.RefusedCalls {
		s.engine.OnRefusal(notes.refused)
	}
	return nil
}

func (s *Server) addHooks(with external.Options) error {
	o := s.options.Settings
	for _, h := range o.Hooks {
		hook := external.Hook{Command: h.Command, Tools: h.Tools, Timeout: h.Timeout}
		if h.Event == settings.EventPost {
			post, err := external.NewPost(hook, with)
			if err != nil {
				return err
			}
			s.engine.AddProgram(post)
			continue
		}
		pre, err := external.NewPre(hook, with)
		if err != nil {
			return err
		}
		s.engine.AddGate(hooks.AtPlan, pre)
		s.judges = append(s.judges, pre)
	}
	return nil
}
