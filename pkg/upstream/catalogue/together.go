package catalogue

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Together settles what is between servers, in the order of their definitions: a tool with the name of one of ours or of a tool
// of an earlier server is left out, and one that speaks of another server's tool, or of ours, has a finding. It changes the entries.
//
// A server chooses the names of its own tools, also such as stand in another one's texts for something else, and must not put that
// one's tools into quarantine with them: they count against servers that are declared later, and not before somebody has trusted
// them. Those with a prefix, which the operator has chosen, count against all.
func Together(parts []Part, ours []string) {
	settleNames(parts, ours)
	known := map[string][]owner{} // by what a tool may be called
	note := func(name, server string, from int) {
		if distinct(name) {
			known[name] = append(known[name], owner{server, from})
		}
	}
	for _, name := range ours {
		note(name, "", 0)
	}
	for i, p := range parts {
		for _, e := range p.Entries {
			if e.State == LeftOut || e.State == Gone {
				continue
			}
			if e.Name != e.Own {
				note(e.Name, e.Server, 0)
			}
			if e.State == Trusted || e.State == Changed || e.State == Suspicious {
				note(e.Own, e.Server, i+1)
			}
		}
	}
	for i, p := range parts {
		own := map[string]bool{}
		for _, e := range p.Entries {
			own[e.Own], own[e.Name] = true, true
		}
		for n := range p.Entries {
			e := &p.Entries[n]
			e.mention(own, known, i)
			e.judge(p.Definition.Findings)
		}
	}
}

// owner is whose a name is, "" for ours, and the first server in the order of definitions against which it counts.
type owner struct {
	server string
	from   int
}

// settleNames leaves out tools whose name another has already, or that take names of another server. What is trusted goes before
// what waits for it, so that no server takes another's tool away by listing one of that name.
func settleNames(parts []Part, ours []string) {
	taken := map[string]string{}
	for _, name := range ours {
		taken[name] = "of a tool of this server"
	}
	settle := func(waits bool) {
		for _, p := range parts {
			for i := range p.Entries {
				e := &p.Entries[i]
				if e.State.Quarantined() != waits || e.State != Trusted && !waits {
					continue
				}
				by := taken[e.Name]
				if by == "" {
					by = foreign(e.Name, p.Definition.Prefix, parts)
				}
				if by != "" {
					e.State, e.Reason = LeftOut, e.Name+" is the name "+by
					continue
				}
				taken[e.Name] = "of a tool of the server " + p.Definition.Name
			}
		}
	}
	settle(false)
	settle(true)
}

// foreign says whose names a name is among, that has the prefix of its own server: those with a longer prefix of another.
func foreign(name, prefix string, parts []Part) string {
	for _, p := range parts {
		if other := p.Definition.Prefix; len(other) > len(prefix) && strings.HasPrefix(name, other) {
			return "that a tool of the server " + p.Definition.Name + " would have"
		}
	}
	return ""
}

// maxMentions bounds the findings of one tool by what it mentions.
const maxMentions = 3

// mention finds the names of tools of others that this one's server, the i-th, has not.
func (e *Entry) mention(own map[string]bool, known map[string][]owner, i int) {
	found := 0
	for _, name := range e.mentions {
		at := slices.IndexFunc(known[name], func(o owner) bool { return o.from <= i })
		if own[name] || at < 0 || found == maxMentions {
			continue
		}
		found++
		whose := "this server's tool"
		if server := known[name][at].server; server != "" {
			whose = "a tool of " + server
		}
		e.Findings = append(e.Findings, Finding{OtherTools, "the definition", fmt.Sprintf("it speaks of %s, %s", name, whose)})
	}
}

// distinct reports whether a name is hardly a word of ordinary text.
func distinct(name string) bool {
	if len(name) < 5 {
		return false
	}
	return strings.ContainsAny(name, "_-.") || strings.ContainsFunc(name[1:], unicode.IsUpper) && strings.ContainsFunc(name, unicode.IsLower)
}

// names are what of a text could be distinct names of tools.
func names(text string) (all []string) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return r >= unicode.MaxASCII || !isWordByte(byte(r)) && r != '_' && r != '-' && r != '.'
	}) {
		if word = strings.Trim(word, ".-_"); len(word) <= MaxName && distinct(word) {
			all = append(all, word)
		}
	}
	return all
}
