package catalogue

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	maxIdentity     = 256
	maxInstructions = 8 << 10
	maxCapabilities = 64 << 10
)

// bounded is a listing within the limits. What goes beyond is left out, and said.
func bounded(l Listing, before listed) listed {
	out := listed{Is: l.Identity, Capabilities: jsontext.Value(l.Capabilities)}
	for _, text := range []*string{&out.Is.Name, &out.Is.Version, &out.Is.Title, &out.Is.Revision} {
		*text = clip(*text, maxIdentity)
	}
	out.Is.Instructions = clip(out.Is.Instructions, maxInstructions)
	if len(out.Capabilities) > maxCapabilities || len(out.Capabilities) > 0 && !out.Capabilities.IsValid() {
		out.Capabilities = nil
		out.Problems = append(out.Problems, "what the server says that it can is left out: it is too large, or no JSON")
	}
	left := MaxListing - len(out.Capabilities)
	for _, list := range []struct {
		name   string
		from   []json.RawMessage
		before []jsontext.Value
		to     *[]jsontext.Value
	}{
		{"tools", l.Tools, before.Tools, &out.Tools}, {"prompts", l.Prompts, before.Prompts, &out.Prompts},
		{"resources", l.Resources, before.Resources, &out.Resources}, {"resource templates", l.Templates, before.Templates, &out.Templates},
	} {
		from := list.before
		if list.from != nil {
			from = values(list.from)
		}
		*list.to, left = within(from, left, list.name, &out.Problems)
	}
	return out
}

func values(list []json.RawMessage) []jsontext.Value {
	all := make([]jsontext.Value, len(list))
	for i, v := range list {
		all[i] = jsontext.Value(v)
	}
	return all
}

// within takes from a list what there is room for.
func within(list []jsontext.Value, room int, name string, problems *[]string) ([]jsontext.Value, int) {
	kept := make([]jsontext.Value, 0, min(len(list), MaxTools))
	var odd []string
	for i, entry := range list {
		if len(kept) == MaxTools || len(entry) > room {
			*problems = append(*problems, fmt.Sprintf("%d of %d %s are left out: a server can have %d, and %d bytes of all its lists together", len(list)-i, len(list), name, MaxTools, MaxListing))
			break
		}
		if why := unclear(entry); why != nil {
			odd = append(odd, fmt.Sprintf("%q (%v)", nameIn(json.RawMessage(entry)), why))
			continue
		}
		room -= len(entry)
		as := entry.Clone()
		_ = as.Format() // as it will be in the file, or each look would find another list; unclear has read it
		kept = append(kept, as)
	}
	if n := len(odd); n > 0 {
		*problems = append(*problems, fmt.Sprintf("%d of the %s are left out: %s", n, name, strings.Join(odd[:min(n, 5)], ", ")))
	}
	return kept, room
}

// unclear says why a definition is not kept: two readers could read it in two ways, or it is too large.
func unclear(entry jsontext.Value) error {
	if len(entry) > MaxDefinition {
		return fmt.Errorf("it has more than %d bytes", MaxDefinition)
	}
	_, err := canonical(entry)
	return err
}

func clip(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}

// lists names those of two listings that are different.
func lists(a, b listed) (names []string) {
	same := func(a, b []jsontext.Value) bool {
		return slices.EqualFunc(a, b, func(a, b jsontext.Value) bool { return string(a) == string(b) })
	}
	if !same(a.Tools, b.Tools) {
		names = append(names, "tools")
	}
	if !same(a.Prompts, b.Prompts) {
		names = append(names, "prompts")
	}
	if !same(a.Resources, b.Resources) || !same(a.Templates, b.Templates) {
		names = append(names, "resources")
	}
	return names
}
