package intent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// piece is some lines of a generated file, or a part of one.
type piece struct {
	intent, field string // that it writes; "" for what stands around
	text          string
}

// writer makes random files of many layouts. Each comment in them is another one.
type writer struct {
	*rand.Rand
	comments int
	camel    bool
	pieces   []piece
	owner    map[string]string // of the comment on the line of a list's entry, the entry
}

func (w *writer) comment() string { w.comments++; return fmt.Sprintf("#c%d.", w.comments) }

// maybe is a comment behind something, or nothing.
func (w *writer) maybe() string {
	if w.IntN(3) > 0 {
		return ""
	}
	return " " + w.comment()
}

func (w *writer) pick(of ...string) string { return of[w.IntN(len(of))] }

func (w *writer) add(in, field, text string) { w.pieces = append(w.pieces, piece{in, field, text}) }

func (w *writer) key(name string) string {
	if first, rest, ok := strings.Cut(name, "_"); ok && w.camel {
		return first + strings.ToUpper(rest[:1]) + rest[1:]
	}
	return name
}

// file has a target between two others.
func (w *writer) file() string {
	w.camel = w.IntN(3) == 0
	w.add("", "", w.pick("", "---\n", "# "+w.comment()+"\n")+"shared: {text: &text aliased one, list: &list [\"l/**\", m.go]}\n"+w.pick("active_intents", "intents")+":"+w.maybe()+"\n")
	base, gap := w.IntN(3)*2, w.pick("", "\n", "  # "+w.comment()+"\n")
	for _, id := range []string{"before", "target", "after"} {
		if w.IntN(5) == 0 {
			w.flowIntent(id, base)
		} else {
			w.blockIntent(id, base)
		}
		w.add("", "", gap)
	}
	w.add("", "", w.pick("", "version: 3"+w.maybe()+"\n", "# "+w.comment()+"\n"))
	text := ""
	for _, p := range w.pieces {
		text += p.text
	}
	return text
}

var (
	textFields = []string{"name", "description", "agent"}
	listFields = []string{"owned_scope", "constraints", "acceptance_criteria", "verify"}
)

func (w *writer) blockIntent(id string, base int) {
	dash := w.pick("- ", "- ", "-   ")
	pad := strings.Repeat(" ", base+len(dash))
	fields := slices.Concat([]string{"id"}, textFields, listFields, []string{"commands", "status", "priority"})
	if w.IntN(2) == 0 {
		w.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	}
	begun := len(w.pieces)
	defer func() {
		head := &w.pieces[begun]
		head.text = strings.Repeat(" ", base) + dash + head.text[len(pad):]
	}()
	for _, field := range fields {
		if w.IntN(5) == 0 && field != "owned_scope" && field != "id" {
			continue
		}
		if w.IntN(4) == 0 && len(w.pieces) > begun {
			w.add("", "", w.pick("\n", pad+w.comment()+"\n"))
		}
		switch {
		case field == "id":
			w.add(id, field, pad+"id: "+id+w.maybe()+"\n")
		case field == "status":
			w.add(id, field, pad+"status: TODO"+w.maybe()+"\n")
		case field == "priority":
			w.add(id, field, pad+"priority: |"+w.maybe()+"\n"+pad+"  # not a comment\n")
		case field == "commands":
			w.add(id, field, pad+w.pick("commands: {allow: [go, 'git status'], network: deny}"+w.maybe(),
				"commands:"+w.maybe()+"\n"+pad+"  "+w.comment()+"\n"+pad+"  allow: [go]"+w.maybe()+"\n"+pad+"  deny:\n"+pad+"  - git push"+w.maybe(), "commands: {}")+"\n")
		case slices.Contains(textFields, field):
			w.add(id, field, pad+field+":"+w.text(pad+"  ")+"\n")
		default:
			w.add(id, field, pad+w.key(field)+":"+w.list(field, pad)+"\n")
		}
	}
}

func (w *writer) flowIntent(id string, base int) {
	between := w.pick("", "\n"+strings.Repeat(" ", base+4))
	w.add(id, "id", strings.Repeat(" ", base)+"- { id: "+id+w.pick("", "")+",")
	for _, field := range slices.Concat(textFields[:2], listFields) {
		if w.IntN(4) == 0 && field != "owned_scope" {
			continue
		}
		value := w.pick("text", "'it''s'", `"a, b"`)
		if slices.Contains(listFields, field) {
			value = w.pick("[a, b.go]", "[ 'x/**' ]", "[\"y\",z,]", "[]")
			if field == "owned_scope" {
				value = "[a, b.go]"
			}
		}
		w.add(id, field, between+" "+w.key(field)+": "+value+",")
	}
	w.add(id, "priority", between+" priority: 1 }"+w.maybe()+"\n")
}

func (w *writer) text(pad string) string {
	switch w.IntN(11) {
	case 0:
		return " plain text, of one line" + w.maybe()
	case 1:
		return " 'it''s # no comment'" + w.maybe()
	case 2:
		return ` "quoted: \"text\""` + w.maybe()
	case 3:
		return w.pick(" |", " |-", " |+") + w.maybe() + "\n" + pad + "one\n\n" + pad + "# not a comment\n" + pad + "  two"
	case 4:
		return w.pick(" >", " >-") + w.maybe() + "\n" + pad + "folded\n" + pad + "text"
	case 5:
		return " plain over\n" + pad + "two lines" + w.maybe()
	case 6:
		return " \"quoted over\n\n" + pad + "lines\"" + w.maybe()
	case 7:
		return w.maybe()
	case 8:
		return w.pick(" ~", " null") + w.maybe()
	case 9:
		return w.pick(" &anchor", " !!str", " !!str &other") + w.pick(" tagged", " 'tagged'", " |\n"+pad+"  tagged") + ""
	}
	return " *text" + w.maybe()
}

// list is one of entries that are globs, and commands.
func (w *writer) list(field, pad string) string {
	form := w.IntN(10)
	if form < 3 && field != "owned_scope" {
		return w.pick(" []", "", " ~", " *list") + w.maybe()
	}
	var b strings.Builder
	n := 1 + w.IntN(4)
	entry := func(i int) (text, value string) {
		value = fmt.Sprintf("%s/%d", field, i)
		return w.pick(value, "'"+value+"'", `"`+value+`"`), value
	}
	own := func(value string) string {
		c := w.maybe()
		if c != "" {
			w.owner[strings.TrimSpace(c)] = value
		}
		return c
	}
	switch {
	case form < 7:
		b.WriteString(w.pick("", " &l"+w.pick("1", "2")+field[:1]) + w.maybe())
		inner := pad + w.pick("", "  ")
		for i := range n {
			if w.IntN(4) == 0 {
				b.WriteString("\n" + w.pick("", inner+w.comment()))
			}
			text, value := entry(i)
			text += own(value)
			if w.IntN(6) == 0 {
				text = "|-\n" + inner + "  " + value
			}
			b.WriteString("\n" + inner + "-" + w.pick(" ", "   ") + text)
		}
	case form < 9:
		b.WriteString(" [" + w.pick("", " "))
		for i := range n {
			text, _ := entry(i)
			b.WriteString(text + w.pick(",", ", ", ", "))
		}
		b.WriteString("]" + w.maybe())
		return strings.Replace(b.String(), ", ]", w.pick(", ]", "]"), 1)
	default:
		b.WriteString(" [" + w.maybe())
		for i := range n {
			if w.IntN(4) == 0 {
				b.WriteString("\n" + pad + "  " + w.comment())
			}
			text, value := entry(i)
			b.WriteString("\n" + pad + "  " + text + w.pick(",", ",", " ,")[min(0, i):] + own(value))
		}
		b.WriteString("\n" + pad + w.pick("]", "  ]") + w.maybe())
	}
	return b.String()
}

var newTexts = []string{"", "short", "a # b: c", "Two\nlines", "Two\nlines\n\n  and: more # x\n", " lead", "true", "123", "- x", "{a: [b", "it's \"q\"", "&a *b", "one\n",
	"\u202eevil", "日本\n⚠️ x", "\ttab", "\n\n", "a\u2028b", strings.Repeat("word ", 60), "---", "... # x", "@x", "%x", "x:", "\\"}

// edit changes some fields of an intent, and says whether it moves entries of a list.
func (w *writer) edit(in *intent.Intent) (e intent.Edit, moves bool) {
	e.Version = in.Version()
	for _, to := range []**string{&e.Name, &e.Description, &e.Agent} {
		if w.IntN(3) == 0 {
			text := w.pick(newTexts...)
			*to = &text
		}
	}
	lists := map[**[]string][]string{&e.OwnedScope: in.OwnedScope, &e.Constraints: in.Constraints, &e.AcceptanceCriteria: in.AcceptanceCriteria, &e.Verify: in.Verify}
	for to, was := range lists {
		if w.IntN(2) == 0 {
			continue
		}
		list := slices.DeleteFunc(slices.Clone(was), func(string) bool { return w.IntN(3) == 0 })
		for range w.IntN(3) {
			list = slices.Insert(list, w.IntN(len(list)+1), w.pick("new/**", "docs", "a b", "{c,d}/e", "f#g", "x"))
		}
		if w.IntN(4) == 0 {
			moves = true
			w.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		if to == &e.OwnedScope && len(list) == 0 {
			list = []string{"**"}
		}
		*to = &list
	}
	if w.IntN(3) == 0 {
		c := in.Commands
		c.Network, c.Ask = w.pick("", "allow", "deny"), [][]string{nil, {"npm install"}}[w.IntN(2)]
		if w.IntN(2) == 0 {
			c.Allow = append(slices.Clone(c.Allow), "ls")
		}
		e.Commands = &c
	}
	return e, moves
}

// Whatever the layout, a file says afterwards what it said with the edit made; comments that do not belong to an entry that
// went are still there, and all that was not edited is as it was.
func TestEditsKeepTheRest(t *testing.T) {
	refused := 0
	rounds := check.Rounds(150, 20_000)
	w := newWorkspace(t, "")
	for seed := range rounds {
		g := writer{Rand: rand.New(rand.NewPCG(uint64(seed), 1)), owner: map[string]string{}}
		text := g.file()
		eol := g.pick("\n", "\n", "\r\n")
		if g.IntN(5) == 0 {
			text = strings.TrimRight(text, "\n")
		}
		text = strings.ReplaceAll(text, "\n", eol)
		w.write(".orchestration/active_intents.yaml", text)
		was, err := intent.Parse([]byte(text))
		check.Must(t, err == nil, "seed %d: %v\n%s", seed, err, text)
		edit, moves := g.edit(was[1])
		plan, err := w.store.PlanEdit("target", edit)
		shown, _ := json.Marshal(edit)
		if err != nil {
			refused++
			check.Must(t, errors.Is(err, intent.ErrLayout) && moves, "seed %d: %v\n%s\n%s", seed, err, shown, text)
			continue
		}
		now, err := intent.Parse(plan.After)
		check.Must(t, err == nil && said(now) == said(edited(was, edit)), "seed %d: %v\n%s\n%s\n%s\n%s", seed, err, shown, text, said(now), plan.After)
		g.checkRest(t, text, string(plan.After), eol, was[1], *now[1], fmt.Sprintf("seed %d\n%s\n%s\n%s", seed, shown, text, plan.After))
	}
	check.That(t, refused < rounds/10, "%d of %d refused", refused, rounds)
}

func said(all []*intent.Intent) string {
	var texts []string
	for _, in := range all {
		c := *in
		c.Line = 0
		text, _ := json.Marshal(&c)
		texts = append(texts, string(text))
	}
	return strings.Join(texts, "\n")
}

func edited(all []*intent.Intent, e intent.Edit) []*intent.Intent {
	all = slices.Clone(all)
	in := *all[1]
	for to, text := range map[*string]*string{&in.Name: e.Name, &in.Description: e.Description, &in.Agent: e.Agent} {
		if text != nil {
			*to = *text
		}
	}
	for to, list := range map[*[]string]*[]string{&in.OwnedScope: e.OwnedScope, &in.Constraints: e.Constraints, &in.AcceptanceCriteria: e.AcceptanceCriteria, &in.Verify: e.Verify} {
		if list != nil {
			*to = *list
		}
	}
	if e.Commands != nil {
		in.Commands = *e.Commands
	}
	all[1] = &in
	return all
}

// checkRest looks for every comment, and for the fields that were not edited.
func (w *writer) checkRest(t *testing.T, before, after, eol string, was *intent.Intent, is intent.Intent, shown string) {
	t.Helper()
	for i := range w.comments {
		comment := fmt.Sprintf("#c%d.", i+1)
		entry, owned := w.owner[comment]
		if !strings.Contains(before, comment) {
			continue
		}
		gone := owned && !slices.Contains(slices.Concat(is.OwnedScope, is.Constraints, is.AcceptanceCriteria, is.Verify), entry)
		check.Must(t, gone || strings.Count(after, comment) == strings.Count(before, comment), "comment %s: %s", comment, shown)
		if !gone && owned {
			line := after[strings.LastIndex(after[:strings.Index(after, comment)], "\n")+1:]
			check.Must(t, strings.Contains(line[:strings.Index(line, comment)], entry), "comment %s left %s: %s", comment, entry, shown)
		}
	}
	fields := func(in *intent.Intent) (f map[string]json.RawMessage) {
		text, _ := json.Marshal(in)
		_ = json.Unmarshal(text, &f)
		return f
	}
	old, now := fields(was), fields(&is)
	for _, p := range w.pieces {
		if p.intent == "target" && string(old[p.field]) != string(now[p.field]) {
			continue
		}
		part := strings.TrimRight(strings.ReplaceAll(p.text, "\n", eol), eol)
		i := strings.Index(after, part)
		check.Must(t, i >= 0, "%q is gone: %s", part, shown)
		after = after[i+len(part):]
	}
}
