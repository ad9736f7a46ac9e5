package settings

import (
	"errors"
	"slices"
)

// Tools is which tools agents are offered.
type Tools struct {
	Enabled    []string `default:"full" order:"fewer" check:"tools" doc:"The tools that agents are offered: names, core (what an ordinary day needs, for half of the tokens of the list), or full (all). These lists do not add up: the strongest holds."`
	RooAliases bool     `order:"free" doc:"Also offer edit_file as edit and search_replace, as Roo Code does."`
}

// The presets of tools.enabled.
const (
	FullTools = "full"
	CoreTools = "core"
)

// Core returns the tools of the preset core. Each that a hint of a refusal, or another of them, names is one of them.
func Core() []string {
	return []string{
		"select_active_intent", "list_intents", "read_file", "list_files", "search_files", "write_to_file", "edit_file",
		"execute_command", "read_command_output", "commit_staged", "request_scope_expansion", "resume_approval",
	}
}

// Offers tells whether a tool is offered. The aliases of edit_file are where it is.
func (t Tools) Offers(name string) bool {
	if slices.Contains([]string{"edit", "search_replace"}, name) && t.Offers("edit_file") {
		return true
	}
	return len(t.Enabled) == 0 || offers(t.Enabled, name)
}

func offers(enabled []string, name string) bool {
	return slices.Contains(enabled, name) || slices.Contains(enabled, FullTools) || slices.Contains(enabled, CoreTools) && slices.Contains(Core(), name)
}

// offersMore reports whether a list has a tool that another has not.
func offersMore(candidate, base any) bool {
	for _, name := range candidate.([]string) {
		all := []string{name}
		if name == CoreTools {
			all = Core()
		}
		for _, name := range all {
			if !offers(base.([]string), name) {
				return true
			}
		}
	}
	return false
}

// validTools: which names there are only the server knows, to which others can add tools.
func validTools(value any) error {
	if len(value.([]string)) == 0 {
		return errors.New("names no tool; leave it out for all of them")
	}
	return nil
}
