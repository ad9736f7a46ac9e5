package doctor

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func (e *examination) checkSettings() {
	if e.UserDir == "" {
		e.warn("There is no directory for your own settings, so nothing can be trusted and no key is found.",
			"Set HOME or XDG_CONFIG_HOME to an absolute path.", "")
	}
	loaded, err := settings.Load(settings.LoadOptions{
		WorkspaceRoot: e.root, WorkspaceDir: e.Dir, SystemDir: e.SystemDir, UserDir: e.UserDir, Environ: e.Environ,
	})
	if err != nil {
		e.brokenSettings(err)
		return
	}
	e.sandbox, e.carried = loaded.Settings.Confinement(e.Ability), loaded.Settings.Ledger.Git
	before := len(e.report.Findings)
	for _, text := range loaded.Warnings {
		remedy, command := remedyOfWarning(text)
		e.warn(sentence(text), remedy, command)
	}
	waiting := e.withheld(loaded)
	if waiting > 0 {
		return
	}
	if len(e.report.Findings) == before {
		trust := ""
		if loaded.WorkspaceHash != "" && loaded.WorkspaceTrusted {
			trust = "; the workspace's file is trusted"
		}
		e.ok("%s differ from the defaults%s", number(len(loaded.Origins), "setting", "settings"), trust)
	}
}

// brokenSettings lists each mistake of the first wrong file.
func (e *examination) brokenSettings(err error) {
	mistakes := positionErrors(err)
	for _, mistake := range mistakes {
		e.fail(fmt.Sprintf("%s: no server starts with it.", strings.TrimSuffix(mistake.Error(), ".")),
			fmt.Sprintf("Correct or delete line %d of %s; docs/settings.md has every key.", mistake.Line, mistake.File), "")
	}
	if len(mistakes) == 0 {
		e.fail(fmt.Sprintf("%v: no server starts with it.", err), "Correct what is named there.", "")
	}
}

func positionErrors(err error) (found []*settings.PositionError) {
	switch joined := err.(type) {
	case *settings.PositionError:
		return append(found, joined)
	case interface{ Unwrap() []error }:
		for _, each := range joined.Unwrap() {
			found = append(found, positionErrors(each)...)
		}
		return found
	}
	if inner := errors.Unwrap(err); inner != nil {
		return positionErrors(inner)
	}
	return nil
}

// withheld says what does not hold, and how much of it waits for the operator's trust.
func (e *examination) withheld(loaded settings.Loaded) (waiting int) {
	for _, w := range loaded.Withheld {
		if w.NeedsTrust {
			waiting++
			e.warn(fmt.Sprintf("%s: %s = %s has no effect until you trust it.", w.Origin, w.Key, w.Value),
				"Look at it; if it is what you want, let it take effect.", e.self("trust"))
			continue
		}
		e.warn(fmt.Sprintf("%s: %s = %s has no effect: %s.", w.Origin, w.Key, w.Value, strings.TrimSuffix(w.Reason, ".")),
			"Take it out, or ask who wrote the stricter setting.", "")
	}
	return waiting
}

var unknownVariable = regexp.MustCompile(`^unknown environment variable ([A-Z0-9_]+) `)

func remedyOfWarning(text string) (remedy, command string) {
	if found := unknownVariable.FindStringSubmatch(text); found != nil {
		return "Correct its name, or take it out of the environment of server and client.", "unset " + found[1]
	}
	return "Change the settings accordingly.", ""
}

// sentence ends a text that may not.
func sentence(text string) string { return strings.TrimSuffix(text, ".") + "." }
