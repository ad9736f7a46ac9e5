package brief

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

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
