// Package policies makes the gate's policy of the settings, and keeps what calls were judged by: records name it by its digest.
//
// # Promise
//
// What a digest of [Keeper.Digest] stands for is on disk before the digest is given, and [Book.Get] gives it back as it was or
// says why not; the gate decides by it as it decided then. It has no secrets. While intents and trust stay as they are a digest
// costs a comparison.
//
// # Non-promise
//
// It does not travel with the ledger to other machines. What the operator's programs and an embedder's hooks decide is no part
// of it.
//
// # Place
//
// state/policies/<digest>.json.zst in the .orchestration of where the ledger stands, beside its files: no tool writes there,
// commands cannot, and deleting cache/ does not touch it. The digest is the SHA-256, in hex, of the JSON object that is in it
// ([Policy]), so one that was changed is not believed. Files are never rewritten, and small: one for each change of the
// operator's files.
package policies

import (
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/command/policy"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/rule"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// Policy is what calls are judged by.
type Policy struct {
	Version  string        `json:"version"` // of the program
	Intents  *intent.Texts `json:"intents"`
	Settings Settings      `json:"settings"`
}

// Settings are what the gate reads of the settings, as it holds: what waits for trust is not in it.
type Settings struct {
	Uninitialized  settings.Choice        `json:"uninitialized"`
	ScopeRequired  bool                   `json:"scope.required"`
	Blind          settings.Choice        `json:"write.blind"`
	MutationClass  settings.Choice        `json:"mutation_class"`
	Rules          []settings.Rule        `json:"rules"`
	ScopeViolation settings.Choice        `json:"approvals.scope_violation"`
	MissingIntent  settings.Choice        `json:"approvals.missing_intent"`
	IgnoredPath    settings.Choice        `json:"approvals.ignored_path"`
	ProgramConfig  settings.Choice        `json:"approvals.program_config"`
	SelectIntent   settings.Choice        `json:"approvals.select_intent"`
	Sandbox        settings.Choice        `json:"sandbox"`
	Default        settings.Choice        `json:"commands.default"`
	Unjudged       settings.Choice        `json:"commands.unjudged"`
	Allow          []settings.CommandRule `json:"commands.allow"`
	Ask            []settings.CommandRule `json:"commands.ask"`
	Deny           []settings.CommandRule `json:"commands.deny"`
	Network        settings.Choice        `json:"commands.network"`
}

// Of is what the gate reads of settings.
func Of(s settings.Settings) Settings {
	return Settings{
		Uninitialized: s.Uninitialized, ScopeRequired: s.Scope.Required, Blind: s.Write.Blind, MutationClass: s.MutationClass, Rules: s.Rules,
		ScopeViolation: s.Approvals.ScopeViolation, MissingIntent: s.Approvals.MissingIntent, IgnoredPath: s.Approvals.IgnoredPath,
		ProgramConfig: s.Approvals.ProgramConfig, SelectIntent: s.Approvals.SelectIntent, Sandbox: s.Sandbox,
		Default: s.Commands.Default, Unjudged: s.Commands.Unjudged, Allow: s.Commands.Allow, Ask: s.Commands.Ask, Deny: s.Commands.Deny,
		Network: s.Commands.Network,
	}
}

// Gate is what they say to the gate of the workspace at root, an absolute path with slashes, on a machine with the ability; nil
// is this one.
func (s Settings) Gate(root string, ability func() sandbox.Ability) (gate.Policy, error) {
	var rules []*rule.Rule
	for _, r := range s.Rules {
		compiled, err := r.Compile()
		if err != nil {
			return gate.Policy{}, fmt.Errorf("settings: rule %q: %w", r.Name, err)
		}
		rules = append(rules, compiled)
	}
	commands, err := s.commands()
	if err != nil {
		return gate.Policy{}, err
	}
	commands.Root = root
	return gate.Policy{
		AllowUninitialized: s.Uninitialized == settings.Allow,
		ScopeRequired:      s.ScopeRequired,
		EnforceClass:       s.MutationClass == settings.Enforce,
		QuietClass:         s.MutationClass == settings.Record,
		Commands:           commands,
		NetworkDenied:      s.Network == settings.Deny,
		Rules:              rules,
		Sandbox:            settings.Settings{Sandbox: s.Sandbox}.Confinement(ability),
		UnjudgedAuto:       s.Unjudged == settings.Auto,
		AskSelection:       s.SelectIntent == settings.Ask,
		MissingIntent:      hooks.Policy(s.MissingIntent),
		ScopeViolation:     hooks.Policy(s.ScopeViolation),
		IgnoredPath:        hooks.Policy(s.IgnoredPath),
		ProgramConfig:      hooks.Policy(s.ProgramConfig),
	}, nil
}

// commands is what they say about commands.
func (s Settings) commands() (policy.Policy, error) {
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
	return policy.Policy{Sources: []policy.Source{rules}, Default: action(s.Default), Unjudged: action(s.Unjudged)}, nil
}

// action: auto asks, where the gate does not find that a sandbox holds what cannot be judged. So does what nobody set.
func action(choice settings.Choice) policy.Action {
	switch choice {
	case settings.Allow:
		return policy.Allow
	case settings.Deny:
		return policy.Deny
	}
	return policy.Ask
}
