package server

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"sync"

	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/policy"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/replay"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe/outside"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/rule"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// policyOf is what the settings say to the gate.
func policyOf(s settings.Settings) (gate.Policy, error) {
	var rules []*rule.Rule
	for _, r := range s.Rules {
		compiled, err := r.Compile()
		if err != nil {
			return gate.Policy{}, fmt.Errorf("settings: rule %q: %w", r.Name, err)
		}
		rules = append(rules, compiled)
	}
	commands, err := commandPolicy(s.Commands)
	if err != nil {
		return gate.Policy{}, err
	}
	return gate.Policy{
		AllowUninitialized: s.Uninitialized == settings.Allow,
		ScopeRequired:      s.Scope.Required,
		EnforceClass:       s.MutationClass == settings.Enforce,
		QuietClass:         s.MutationClass == settings.Record,
		Commands:           commands,
		NetworkDenied:      s.Commands.Network == settings.Deny,
		Rules:              rules,
		UnjudgedAuto:       s.Commands.Unjudged == settings.Auto,
		AskSelection:       s.Approvals.SelectIntent == settings.Ask,
		MissingIntent:      hooks.Policy(s.Approvals.MissingIntent),
		ScopeViolation:     hooks.Policy(s.Approvals.ScopeViolation),
		IgnoredPath:        hooks.Policy(s.Approvals.IgnoredPath),
		ProgramConfig:      hooks.Policy(s.Approvals.ProgramConfig),
	}, nil
}

// commandPolicy is what the settings say about commands.
func commandPolicy(s settings.Commands) (policy.Policy, error) {
	rules := policy.Source{Name: "the settings"}
	for _, list := range []struct {
		from []settings.CommandRule
		to   *[]policy.Rule
	}{{s.Allow, &rules.Allow}, {s.Ask, &rules.Ask}, {s.Deny, &rules.Deny}} {
		for _, r := range list.from {
			rule, err := r.Compile()
			if err != nil {
				return policy.Policy{}, fmt.Errorf("settings: %w", err)
			}
			*list.to = append(*list.to, rule)
		}
	}
	return policy.Policy{Sources: []policy.Source{rules}, Default: commandAction(s.Default), Unjudged: commandAction(s.Unjudged)}, nil
}

// commandAction: auto asks, where the gate does not find that a sandbox holds what cannot be judged. So does what nobody set.
func commandAction(choice settings.Choice) policy.Action {
	switch choice {
	case settings.Allow:
		return policy.Allow
	case settings.Deny:
		return policy.Deny
	}
	return policy.Ask
}

// hidden is what commands do not see of what this program keeps outside of the workspace's own .orchestration.
func (s *Server) hidden() []string {
	hidden := []string{s.options.UserDir}
	if beside := locate.Beside(s.workspace.Dir()); beside != "" {
		hidden = append(hidden, filepath.Join(beside, orchdir.Name, "state"), filepath.Join(beside, orchdir.Name, "cache"))
	}
	return hidden
}

// families are what the tools work on, beside what the server holds of the workspace: the gate that judges their calls, and
// what runs commands.
func (s *Server) families(g *gate.Gate, runner *command.Runner, artifacts *command.Artifacts) tools.Families {
	o := s.options.Settings
	files := &tools.Files{
		Workspace: s.workspace, Fresh: g.Fresh, Limit: int64(o.Limits.FileSize), Match: edit.Options{Threshold: o.Diff.Threshold},
		RecordReads: o.Ledger.RecordReads, ShortText: o.Results.Text == settings.Short,
	}
	brain := &tools.Brain{Files: files, Intents: s.intents, File: o.Brain.File, Clock: s.options.Clock}
	return tools.Families{
		Files: files, Brain: brain, Asks: s.asks, Aliases: o.Tools.RooAliases,
		Intents: &tools.Intents{
			Store: s.intents, Sessions: s.sessions, Ledger: s.recorder, Brain: brain, Clock: s.options.Clock, ContextLimit: int(o.Limits.ContextSize),
		},
		Commands: &tools.Commands{
			Files: files, Intents: s.intents, Runner: runner, Artifacts: artifacts, Jobs: s.jobs,
			Observer: observe.New(observe.Options{
				Workspace: s.workspace, Snapshots: s.recorder.Snapshots(), Ledger: s.recorder, Outside: sync.OnceValue(s.watchedPlaces), Revert: o.Commands.RevertViolations,
				Git: &replay.Repository{Workspace: s.workspace, NewBlobHash: gitdir.New(s.workspace.Dir()).NewBlobHash, Writable: o.Commands.Writable},
			}),
			Want: g.Sandbox, Profiles: s.profiles, Git: map[settings.Choice]profile.Git{settings.Allow: profile.GitOpen, settings.Trust: profile.GitTrusted}[o.Commands.Git], Writable: o.Commands.Writable, Hidden: s.hidden(),
			Policy: g.Policy,
			Clock:  s.options.Clock, HandOver: cmp.Or(s.options.handOver, tools.HandOverTime),
			CommandTimeout: o.Commands.Timeout, MaxCommandTimeout: o.Commands.MaxTimeout, KeepEnv: o.Commands.Env, OutputCap: int64(o.Commands.OutputCap),
		},
	}
}

// keptPlaces are those that keep their protection where the workspace is a home directory, or has one in it.
func keptPlaces(userDir string) []workspace.Place {
	places := []workspace.Place{
		{Path: userDir, Protection: workspace.ProtectOwn},
		{Path: settings.SystemDir, Protection: workspace.ProtectOwn},
		{Path: profile.CacheDir(os.Environ()), Protection: workspace.ProtectOwn, Commands: true},
	}
	for _, p := range outside.Known(os.Environ(), userName(), "") {
		if p.Path() != userDir && p.Path() != settings.SystemDir {
			places = append(places, workspace.Place{Path: p.Path(), Protection: workspace.ProtectProgramConfig})
		}
	}
	return places
}

// watchedPlaces are those outside of the workspace that commands could reach.
func (s *Server) watchedPlaces() []outside.Place {
	return outside.Places(os.Environ(), userName(), s.options.UserDir, s.workspace.Dir())
}

func userName() string {
	if me, err := user.Current(); err == nil {
		return me.Username
	}
	return ""
}
