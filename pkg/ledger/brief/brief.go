// Package brief says in one line what a ledger record is about.
//
// It promises one line of printable text of bounded length, whatever the record holds: names and commands in a record
// are the agent's text. It leaves out when, who and under which intent, which its callers show in columns of their own,
// and it is for reading only: programs read the record.
package brief

import (
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

const (
	shownPaths = 3
	pathLength = 120
	textLength = 160
	shortID    = 8
)

// Line is the record's call and what came of it: the files that it changed, the command that it ran, or the decision.
func Line(e record.Entry) string {
	parts := []string{name(e)}
	switch {
	case e.Decision != nil:
		parts = append(parts, decision(e))
	case e.Command != nil:
		parts = append(parts, command(*e.Command))
	case e.Detail[record.DetailUpstream] != nil:
		if text := upstream(e); text != "" {
			parts = append(parts, text)
		}
	case e.Kind == record.KindLifecycle:
		if step := lifecycle(e); step != "" {
			parts = append(parts, step)
		}
	}
	if len(e.Changes) > 0 {
		parts = append(parts, changes(e.Changes))
	} else if e.Kind == "" && len(e.Files) > 0 {
		parts = append(parts, paths(e.Files))
	}
	if n := len(e.Violations); n > 0 {
		parts = append(parts, fmt.Sprintf("(%d out of scope)", n))
	}
	if note := detail(e); note != "" {
		parts = append(parts, note)
	}
	return strings.Join(parts, " ")
}

func name(e record.Entry) string {
	switch {
	case e.Call != "":
		return shown(e.Call, textLength)
	case e.Kind != "":
		return shown(string(e.Kind), textLength)
	}
	return "[of another tool]"
}

func shown(text string, length int) string { return printable.Text(printable.Clip(text, length)) }

func decision(e record.Entry) string {
	d := e.Decision
	words := []string{shown(d.Outcome, textLength)}
	for _, word := range []string{d.ErrorType, d.Approval} {
		if word != "" {
			words = append(words, shown(word, textLength))
		}
	}
	if len(d.Paths) > 0 {
		words = append(words, paths(d.Paths))
	}
	return strings.Join(words, " ")
}

func command(c record.Command) string {
	end := fmt.Sprintf("exit %d", c.ExitCode)
	switch {
	case c.Started:
		end = "started in the background"
	case c.TimedOut:
		end = "timed out"
	case c.EndedBy != "":
		end = shown(c.EndedBy, textLength)
	case c.Background:
		end += ", in the background"
	}
	return fmt.Sprintf("[%s] %s", end, shown(c.Command, textLength))
}

// upstream is the server and its own name for the tool.
func upstream(e record.Entry) string {
	u, is := e.Upstream()
	if !is {
		return ""
	}
	text := fmt.Sprintf("[%s] %s", shown(u.Server, textLength), shown(u.Tool, textLength))
	if u.IsError {
		text += " failed"
	}
	return text
}

func changes(all []record.Change) string {
	var list []string
	for _, c := range all[:min(len(all), shownPaths)] {
		op := shown(string(c.Op), textLength)
		text := op + " " + shown(c.Path, pathLength)
		if c.From != "" {
			text = fmt.Sprintf("%s %s to %s", op, shown(c.From, pathLength), shown(c.Path, pathLength))
		}
		if added, removed := c.Lines(); added+removed > 0 {
			text += fmt.Sprintf(" +%d -%d", added, removed)
		}
		if c.Before.Mode != c.After.Mode && c.Before.Mode != "" && c.After.Mode != "" {
			text += fmt.Sprintf(" mode %s to %s", c.Before.Mode, c.After.Mode)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ") + more(len(all), shownPaths)
}

func paths(all []string) string {
	var list []string
	for _, p := range all[:min(len(all), shownPaths)] {
		list = append(list, shown(p, pathLength))
	}
	return strings.Join(list, ", ") + more(len(all), shownPaths)
}

func more(n, shown int) string {
	if n <= shown {
		return ""
	}
	return fmt.Sprintf(" and %d more", n-shown)
}

// detail names the records that this one takes back.
func detail(e record.Entry) string {
	for _, key := range []string{Undoes, Retracts} {
		if ids := References(e, key); len(ids) > 0 {
			text := fmt.Sprintf("%s %s%s", key, ShortID(ids[0]), more(len(ids), 1))
			if n := len(References(e, UndoesInPart)); key == Undoes && n > 0 {
				text += fmt.Sprintf(", %d in part", n)
			}
			return "(" + text + ")"
		}
	}
	return ""
}

// ShortID is as much of an id as a person reads and types.
func ShortID(id string) string { return printable.Text(id[:min(len(id), shortID)]) }

// Keys of a record's detail that name other records.
const (
	Undoes       = "undoes"         // the records that this one took back
	UndoesInPart = "undoes_in_part" // those among them of which it left files as they were
	Retracts     = "retracts"       // the record of a mutation that was not to be: its append had failed
)

// References are the ids of the records that a detail's key names: a text, or a list of texts.
func References(e record.Entry, key string) []string {
	var ids []string
	switch value := e.Detail[key].(type) {
	case string:
		ids = append(ids, value)
	case []string:
		ids = append(ids, value...)
	case []any:
		for _, element := range value {
			if id, ok := element.(string); ok {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// TakenBack are the ids of the records that a record took back: those that it undid, and the one of a mutation that was not to be.
func TakenBack(e record.Entry) []string {
	return append(References(e, Undoes), References(e, Retracts)...)
}

// lifecycle is what became of an intent: who reads a log wants to know the step, and not only that there was one.
func lifecycle(e record.Entry) string {
	word := func(key string) string {
		text, _ := e.Detail[key].(string)
		return shown(text, textLength)
	}
	var parts []string
	for _, key := range []string{"added", "proposed"} {
		if name := word(key); name != "" {
			parts = append(parts, `"`+name+`"`)
		}
	}
	if fields := References(e, "edited"); len(fields) > 0 {
		parts = append(parts, shown(strings.Join(fields, ", "), textLength))
	}
	if kind := word("lesson"); kind != "" {
		parts = append(parts, kind+": "+word("text"))
	}
	switch from, to := word("from"), word("status"); {
	case from != "" && to != "":
		parts = append(parts, from+" -> "+to)
	case to != "":
		parts = append(parts, to)
	}
	for _, key := range []string{"owned_scope", "scope_added"} {
		if globs := References(e, key); len(globs) > 0 {
			parts = append(parts, paths(globs))
		}
	}
	for _, key := range []string{"note", "reason"} {
		if text := word(key); text != "" {
			parts = append(parts, "("+text+")")
		}
	}
	return strings.Join(parts, " ")
}
