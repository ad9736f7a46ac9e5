package catalogue

import (
	"fmt"
	"strings"
	"unicode"
)

// Together settles what is between servers, in the order of their definitions: a tool with the name of one of ours or of a tool
// of an earlier server is left out, and one that speaks of another server's tool, or of ours, has a finding. It changes the entries.
func Together(parts []Part, ours []string) {
	settleNames(parts, ours)
	owners := map[string][]string{} // by what a tool may be called
	note := func(name, owner string) {
		if distinct(name) {
			owners[name] = append(owners[name], owner)
		}
	}
	for _, name := range ours {
		note(name, "")
	}
	for _, p := range parts {
		for _, e := range p.Entries {
			if e.State != LeftOut && e.State != Gone {
				note(e.Own, e.Server)
				if e.Name != e.Own {
					note(e.Name, e.Server)
				}
			}
		}
	}
	for _, p := range parts {
		own := map[string]bool{}
		for _, e := range p.Entries {
			own[e.Own], own[e.Name] = true, true
		}
		for i := range p.Entries {
			e := &p.Entries[i]
			e.mention(own, owners)
			e.judge(p.Definition.Findings)
		}
	}
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

// mention finds the names of tools of others that this one's server has not.
func (e *Entry) mention(own map[string]bool, owners map[string][]string) {
	found := 0
	for _, name := range e.mentions {
		if own[name] || len(owners[name]) == 0 || found == maxMentions {
			continue
		}
		found++
		whose := "this server's tool"
		if owner := owners[name][0]; owner != "" {
			whose = "a tool of " + owner
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
