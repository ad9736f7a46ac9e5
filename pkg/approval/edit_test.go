package approval_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
)

// asked is a request for a call, with the effects that it has on files.
func askedFor(tool, arguments string, effects ...approval.Effect) approval.Request {
	return approval.Request{Tool: tool, IntentID: "I", Arguments: []byte(arguments), Effects: effects}
}

// What an edit makes of a call, and what of each call can be edited.
func TestEdits(t *testing.T) {
	t.Parallel()
	modify, create := approval.Effect{Kind: "modify", Path: "src/a", Before: "sha256:1"}, approval.Effect{Kind: "create", Path: "src/a"}
	byClient := askedFor("write_to_file", `{"path":"a","content":"x"}`, create)
	byClient.ByClient = true
	for name, c := range map[string]struct {
		r          approval.Request
		part, text string // what can be edited; none: nothing can
		to, made   string
	}{
		"a new file":      {askedFor("write_to_file", `{"content":"x","path":"a"}`, create), "content", "x", "y", `write_to_file {"content":"y","path":"a"}`},
		"an edit":         {askedFor("edit_file", `{"file_path":"a","intent_id":"I","old_string":"x","new_string":"y","replace_all":true}`, modify), "content", "", "<y>", `write_to_file {"content":"\u003cy\u003e","expected_content_hash":"sha256:1","file_path":"a","intent_id":"I"}`},
		"a diff":          {askedFor("apply_diff", `{"diff":"d","mutation_class":"AST_REFACTOR","path":"a"}`, modify), "content", "", "", `write_to_file {"content":"","expected_content_hash":"sha256:1","mutation_class":"AST_REFACTOR","path":"a"}`},
		"a patch":         {askedFor("apply_patch", `{"patch":"p"}`, modify, create), "patch", "p", "q", `apply_patch {"patch":"q"}`},
		"a command":       {askedFor("execute_command", `{"command":"a","timeout":100000000000000000001}`), "command", "a", "b", `execute_command {"command":"b","timeout":100000000000000000001}`},
		"a scope":         {askedFor("request_scope_expansion", `{"paths":["a","b"],"reason":"r"}`), "scope", "a\nb", "\nb\r\n", `request_scope_expansion {"paths":["b"],"reason":"r"}`},
		"an intent":       {askedFor("propose_intent", `{"name":"n","owned_scope":["a"]}`), "scope", "a", "b", `propose_intent {"name":"n","owned_scope":["b"]}`},
		"a selection":     {r: askedFor("select_active_intent", `{"intent_id":"I"}`)},
		"by the client":   {r: byClient},
		"too large":       {r: askedFor("write_to_file", "", create)},
		"a foreign tool":  {r: askedFor("deploy", `{"content":"x"}`)},
		"several files":   {r: askedFor("edits", `{}`, modify, create)},
		"no single write": {r: askedFor("write_to_file", `{"path":"a","content":"x"}`, modify, create)},
	} {
		t.Run(name, func(t *testing.T) {
			what, err := approval.EditableOf(c.r)
			if c.part == "" {
				check.Is(t, err, approval.ErrNotEditable)
				_, err := approval.NewEdit(c.r, "y")
				check.Is(t, err, approval.ErrNotEditable)
				return
			}
			check.OK(t, err)
			check.That(t, string(what.Part) == c.part && what.Text == c.text, "%+v", what)
			edit := check.Value(approval.NewEdit(c.r, c.to))(t)
			check.Equal(t, edit.Tool+" "+string(edit.Arguments), c.made)
			check.That(t, c.part != "content" || what.Path == "src/a", "path %q", what.Path)
		})
	}
	_, err := approval.NewEdit(byClient, strings.Repeat("x", 2<<20))
	check.That(t, err != nil, "an edit of any size")
}

// The store takes an edit with an approval once, of the very call but for its text.
func TestStoreTakesEditsOfTheCallAlone(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.process()
	r := d.put(s, askedFor("execute_command", `{"command":"a","cwd":"src"}`))
	good := check.Value(approval.NewEdit(r, "b"))(t)
	for name, a := range map[string]approval.Answer{
		"for the intent": {Decision: approval.ForIntent, Edit: &good},
		"a denial":       {Decision: approval.Deny, Edit: &good},
		"elsewhere":      {Decision: approval.Once, Edit: &approval.Edit{Tool: "execute_command", Arguments: []byte(`{"command":"b","cwd":".."}`)}},
		"another tool":   {Decision: approval.Once, Edit: &approval.Edit{Tool: "write_to_file", Arguments: []byte(`{"content":"b","path":"a"}`)}},
		"no call":        {Decision: approval.Once, Edit: &approval.Edit{Tool: "execute_command", Arguments: []byte(`[`)}},
	} {
		_, _, err := s.Answer(r.ID, a)
		check.That(t, err != nil && !errors.Is(err, approval.ErrAnswered), "%s: %v", name, err)
	}
	given, _, err := s.Answer(r.ID, approval.Answer{Decision: approval.Once, Edit: &good, Via: approval.Inbox})
	check.OK(t, err)
	standing(t, d.process(), r.Digest, true, false)
	for _, first := range []bool{true, false} {
		used, err := d.process().Use(given)
		check.That(t, err == nil && used == first, "used %v %v", used, err)
	}
	standing(t, s, r.Digest, false, false)
	kept := check.Value(s.AnswerOf(r.ID))(t)
	check.That(t, kept.Edit != nil && s.Spent(r.ID), "what was made is not known any more")
	d.now = given.ExpiresAt
	check.Value(s.Pending())(t)
	check.Fails(s.AnswerOf(r.ID))(t, approval.ErrUnknown)
}

// What was answered with an edit, and made, while somebody looked for the answer is found by who looks again.
func TestEditThatIsMadeMeanwhileIsFound(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.process()
	r := d.put(s, askedFor("execute_command", `{"command":"a"}`))
	meanwhile := func() {
		edit := check.Value(approval.NewEdit(r, "b"))(t)
		given, _, err := s.Answer(r.ID, approval.Answer{Decision: approval.Once, Edit: &edit, Via: approval.Inbox})
		check.OK(t, err)
		check.OK(t, s.Close(given))
	}
	root := check.Value(os.OpenRoot(d.dir))(t)
	defer root.Close()
	waits := approval.Open(root, approval.Options{UserDir: d.user, Clock: func() time.Time { // asked for between the look for an answer and what follows
		made := meanwhile
		meanwhile = func() {}
		made()
		return d.now
	}})
	check.Fails(waits.AnswerOf(r.ID))(t, approval.ErrPending)
	check.That(t, check.Value(waits.AnswerOf(r.ID))(t).Edit != nil, "the edit is not known")
}
