package server

import (
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/external"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// addPrograms puts the operator's programs behind the gate and behind the
// calls. Settings have let through only what the operator trusted.
func (s *Server) addPrograms(runner *command.Runner) error {
	o := s.options.Settings
	with := external.Options{Workspace: s.workspace, Runner: runner, KeepEnv: o.Commands.Env}
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
	}
	if len(o.Hooks) > 0 {
		s.engine.AddProgram(external.Again(s.workspace, int64(o.Limits.FileSize)))
	}
	return nil
}
