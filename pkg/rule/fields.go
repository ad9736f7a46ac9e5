package rule

import (
	"sync"

	"cel.dev/cel-go/cel"
)

// Field is something that a condition can ask for.
type Field struct {
	Name string
	Type string
	Doc  string

	kind *cel.Type
	get  func(*Facts) any
}

// Fields describes all fields, in the order in which they are documented.
func Fields() []Field {
	fields := catalogue()
	for i := range fields {
		fields[i].Type = typeName(fields[i].kind)
	}
	return fields
}

func catalogue() []Field {
	text, number, truth, texts := cel.StringType, cel.IntType, cel.BoolType, cel.ListType(cel.StringType)
	return []Field{
		{Name: "tool", kind: text, get: func(f *Facts) any { return f.Tool }, Doc: "The tool that is called, such as `write_to_file`."},
		{Name: "paths", kind: texts, get: func(f *Facts) any { return f.Paths }, Doc: "All paths that the call changes, both ends of a move included."},

		{Name: "effect.kind", kind: text, get: func(f *Facts) any { return f.Effect.Kind }, Doc: "`create`, `modify`, `delete`, `move`, `command` or `upstream`."},
		{Name: "effect.path", kind: text, get: func(f *Facts) any { return f.Effect.Path }, Doc: "The file, relative to the workspace, links resolved; of a move the place where it goes."},
		{Name: "effect.from", kind: text, get: func(f *Facts) any { return f.Effect.From }, Doc: "Where a moved file comes from."},
		{Name: "effect.before", kind: text, get: func(f *Facts) any { return lazy(f.Effect.Before) }, Doc: "The file's text before, unless it is binary."},
		{Name: "effect.after", kind: text, get: func(f *Facts) any { return lazy(f.Effect.After) }, Doc: "The file's text after, unless it is binary."},
		{Name: "effect.added", kind: texts, get: func(f *Facts) any { return lazy(f.Effect.Added) }, Doc: "The lines that the change adds, without line ends. A changed line is removed and added."},
		{Name: "effect.removed", kind: texts, get: func(f *Facts) any { return lazy(f.Effect.Removed) }, Doc: "The lines that it removes."},
		{Name: "effect.before_size", kind: number, get: func(f *Facts) any { return f.Effect.BeforeSize }, Doc: "The file's size before, in bytes."},
		{Name: "effect.after_size", kind: number, get: func(f *Facts) any { return f.Effect.AfterSize }, Doc: "Its size after, in bytes."},
		{Name: "effect.binary", kind: truth, get: func(f *Facts) any { return lazy(f.Effect.Binary) }, Doc: "The content before or after is not text."},

		{Name: "command.line", kind: text, get: func(f *Facts) any { return f.Command.Line }, Doc: "The command line as the shell gets it."},
		{Name: "command.cwd", kind: text, get: func(f *Facts) any { return f.Command.Cwd }, Doc: "The directory that it runs in, `.` for the workspace's root."},
		{Name: "command.background", kind: truth, get: func(f *Facts) any { return f.Command.Background }, Doc: "It goes on behind the call."},
		{Name: "command.programs", kind: cel.ListType(texts), get: func(f *Facts) any { return f.Command.Programs }, Doc: "The programs that the line can run, each a list of its name and its arguments as far as they are literal."},

		{Name: "upstream.server", kind: text, get: upstream(func(u *Upstream) any { return u.Server }), Doc: "The other server that is called, its safe tools too; else empty."},
		{Name: "upstream.tool", kind: text, get: upstream(func(u *Upstream) any { return u.Tool }), Doc: "Its own name for the tool."},
		{Name: "upstream.arguments", kind: cel.MapType(text, cel.DynType), get: upstream(func(u *Upstream) any { return lazy(u.Arguments) }), Doc: "What it is given. A missing member refuses, unless `has(…)` was asked."},
		{Name: "upstream.urls", kind: texts, get: upstream(func(u *Upstream) any { return u.URLs }), Doc: "The addresses in it, by `effects`."},
		{Name: "upstream.commands", kind: texts, get: upstream(func(u *Upstream) any { return u.Commands }), Doc: "The command lines in it."},

		{Name: "intent.id", kind: text, get: func(f *Facts) any { return f.Intent.ID }, Doc: "The selected intent. `UNTRACKED` where the operator lets calls pass without one."},
		{Name: "intent.name", kind: text, get: func(f *Facts) any { return f.Intent.Name }, Doc: "Its name."},
		{Name: "intent.status", kind: text, get: func(f *Facts) any { return f.Intent.Status }, Doc: "Its status: `TODO`, `IN_PROGRESS`, `BLOCKED` or `DONE`, whatever words the file uses."},
		{Name: "intent.agent", kind: text, get: func(f *Facts) any { return f.Intent.Agent }, Doc: "Its `agent`."},
		{Name: "intent.owned_scope", kind: texts, get: func(f *Facts) any { return f.Intent.OwnedScope }, Doc: "Its globs, as written."},

		{Name: "session.client", kind: text, get: func(f *Facts) any { return f.Session.Client }, Doc: "The client's name, by its own word."},
		{Name: "session.client_version", kind: text, get: func(f *Facts) any { return f.Session.ClientVersion }, Doc: "Its version, by its own word."},
		{Name: "session.model", kind: text, get: func(f *Facts) any { return f.Session.Model }, Doc: "The model's id, where the client says it."},

		{Name: "class.declared", kind: text, get: func(f *Facts) any { return f.Class.Declared }, Doc: "`AST_REFACTOR` or `INTENT_EVOLUTION` as the agent declared it."},
		{Name: "class.computed", kind: text, get: func(f *Facts) any { return lazy(f.Class.Computed) }, Doc: "The class that the record will have. A command has none."},
		{Name: "class.evidence", kind: text, get: func(f *Facts) any { return lazy(f.Class.Evidence) }, Doc: "`proven`, `proven-local`, `unproven` or `unsupported` ([classes](classes.md))."},
	}
}

// upstream gets something of another server's call, and the zero value of any other.
func upstream(get func(*Upstream) any) func(*Facts) any {
	return func(f *Facts) any {
		if f.Upstream == nil {
			return get(&Upstream{Arguments: func() map[string]any { return map[string]any{} }, URLs: []string{}, Commands: []string{}})
		}
		return get(f.Upstream)
	}
}

// getters are the catalogue by name, built once.
var getters = sync.OnceValue(func() map[string]func(*Facts) any {
	byName := make(map[string]func(*Facts) any)
	for _, f := range catalogue() {
		byName[f.Name] = f.get
	}
	return byName
})

func lazy[T any](get func() T) T {
	if get == nil {
		var none T
		return none
	}
	return get()
}

// typeName names a type in words.
func typeName(t *cel.Type) string {
	switch t.Kind() {
	case cel.StringKind:
		return "text"
	case cel.IntKind, cel.UintKind, cel.DoubleKind:
		return "a number"
	case cel.BoolKind:
		return "true or false"
	case cel.ListKind:
		if t.Parameters()[0].Kind() == cel.ListKind {
			return "list of lists of text"
		}
		return "list of text"
	case cel.MapKind:
		return "members by name"
	}
	return t.String()
}
