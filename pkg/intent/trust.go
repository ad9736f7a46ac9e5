package intent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Trust reports whether the operator has trusted a content, by its hash ("sha256:" and hexadecimal digits).
type Trust func(hash string) bool

// Weakening is what one file says that gives agents more than the defaults do, and that has no effect before the
// operator has trusted it: `unscoped:` rules of an ignore file, `commands.allow` and `network: allow` of the intents.
type Weakening struct {
	File    string // relative to the workspace
	Entries []WeakeningEntry
	// Hash is what is trusted. Of an ignore file it is that of its bytes. Of active_intents.yaml it is that of the
	// entries alone, each with its intent: the server itself changes the file, when a status changes or a scope is
	// approved, and must not undo the operator's trust by it.
	Hash    string
	Trusted bool
}

// WeakeningEntry is one declaration, as it can be shown.
type WeakeningEntry struct {
	Line int
	Text string
}

// TrustedBy makes the store ask for trust; without it nothing is trusted. It must be called before the store is used. The
// function is asked again as long as it says no, so that trust takes effect at the next call.
func (s *Store) TrustedBy(trust Trust) *Store {
	s.trust = trust
	return s
}

// Weakenings returns what the files say that needs trust, trusted or not. Files that are missing or cannot be read say
// nothing.
func (s *Store) Weakenings() []Weakening {
	_, _ = s.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Weakening
	for _, w := range s.weakenings() {
		if len(w.Entries) > 0 {
			all = append(all, *w)
		}
	}
	return all
}

// weakenings are those of the files as they were parsed last.
func (s *Store) weakenings() []*Weakening {
	var all []*Weakening
	if s.doc != nil {
		all = append(all, &s.doc.weakening)
	}
	for i := range s.rules {
		all = append(all, &s.rules[i].file.weakening)
	}
	return all
}

// askTrust asks about what is not trusted yet, and reports whether any is now.
func (s *Store) askTrust() (changed bool) {
	if s.trust == nil {
		return false
	}
	for _, w := range s.weakenings() {
		if len(w.Entries) > 0 && !w.Trusted && s.trust(w.Hash) {
			w.Trusted, changed = true, true
		}
	}
	return changed
}

// weakeningOfIntents collects what the intents grant to commands.
func weakeningOfIntents(intents []*Intent) Weakening {
	w := Weakening{File: filePath}
	type grant struct {
		ID      string
		Allow   []string
		Network bool
	}
	grants := []grant{}
	for _, in := range intents {
		g := grant{in.ID, in.Commands.Allow, in.Commands.Network == "allow"}
		if len(g.Allow) > 0 {
			w.Entries = append(w.Entries, WeakeningEntry{in.Line, fmt.Sprintf("commands.allow of %s = [%s]", in.ID, strings.Join(quoted(g.Allow), ", "))})
		}
		if g.Network {
			w.Entries = append(w.Entries, WeakeningEntry{in.Line, "commands.network of " + in.ID + " = allow"})
		}
		if len(g.Allow) > 0 || g.Network {
			grants = append(grants, g)
		}
	}
	text, err := json.Marshal(grants)
	if err != nil { // of plain text there is none; a hash that nobody can have trusted
		text = []byte(err.Error())
	}
	w.Hash = contentHash(append([]byte("grants of "+filePath+"\n"), text...))
	return w
}

func quoted(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = fmt.Sprintf("%q", text)
	}
	return out
}

// weakeningOfIgnore collects the `unscoped:` rules of a file.
func weakeningOfIgnore(f *ignoreFile, data []byte) Weakening {
	w := Weakening{File: f.name, Hash: contentHash(data)}
	for _, r := range f.unscoped {
		w.Entries = append(w.Entries, WeakeningEntry{r.Line, r.Text})
	}
	return w
}

func contentHash(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Commands returns the rules of an intent for commands, without what waits for the operator's trust: the one place to
// ask for what holds.
func (s *Set) Commands(in *Intent) CommandRules {
	rules := in.Commands
	if s.commandsTrusted {
		return rules
	}
	rules.Allow = nil
	if rules.Network == "allow" {
		rules.Network = ""
	}
	return rules
}
