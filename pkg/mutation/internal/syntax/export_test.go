package syntax

import (
	"context"
	"fmt"
	"strings"
)

// Unknown are the kinds and fields of the tables that their grammars lack.
func Unknown(ctx context.Context) (all []string) {
	entries, _ := files.ReadDir("tables")
	for _, e := range entries {
		text, _ := files.ReadFile("tables/" + e.Name())
		t, err := readTable(strings.TrimSuffix(e.Name(), ".lang"), string(text))
		if err != nil {
			all = append(all, err.Error())
			continue
		}
		tree, err := t.parse(ctx, []byte(map[bool]string{true: "package p"}[t.grammar == "go"]))
		if err != nil {
			all = append(all, err.Error())
			continue
		}
		_, unknown := newRules(t, tree.Grammar)
		for _, u := range unknown {
			if t.like != "" && strings.Contains(tableText(t.like), u) {
				continue // of the other grammar
			}
			all = append(all, fmt.Sprintf("%s: %s", e.Name(), u))
		}
	}
	return all
}

func tableText(name string) string {
	text, _ := files.ReadFile("tables/" + name + ".lang")
	return string(text)
}

// Forget lets go of what is kept of texts: they are judged as wholes.
func Forget() {
	kept.Lock()
	defer kept.Unlock()
	kept.byText, kept.order = nil, nil
}
