package syntax

import (
	"cmp"
	"embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// table is what is known of one language. A file tables/NAME.lang has it, as
// tables/README.md says; what it does not mention is compared as it is written.
type table struct {
	name, grammar, family string
	like                  string // the table that this one goes on from
	extensions            []string
	or                    map[string]string // the language that a file could also be in, by extension

	kinds map[kindBits]set  // kinds of nodes and tokens, by what kindKeys say of them
	at    map[placeBits]set // places, by what placeKeys say of them

	keep    *regexp.Regexp // comments that a compiler, an interpreter or a tool reads
	note    *regexp.Regexp // what is read of a comment: its first group
	keepAll *regexp.Regexp // text with which a file has all its comments read
	never   *regexp.Regexp // text with which a file is not compared
	fixed   *regexp.Regexp // text with which a file has no renamed names
	apart   bool           // a fault in one declaration says nothing about the others

	lines   lineRule
	splices bool // a backslash at the end of a line is layout
	crlf    bool // CR LF in a text is LF
	bom     bool // a byte order mark is layout

	shorts  []shorthand
	scopes  map[string]scopeKind
	defines []definition
	sigil   string // what the name of a parameter lacks where a call names it
	closed  bool   // a function sees no variables of what is around it

	mentions bool           // parts must not pass what mentions them
	plain    set            // macros that read expressions
	calm     *regexp.Regexp // text of what is noisy otherwise, and is not
	ordered  *regexp.Regexp // text with which all parts of a file keep their places
	alone    set            // words with which parts are no lead
	acts     *regexp.Regexp // text with which a part is more than a declaration

	reserved set
	pinned   *regexp.Regexp // names that have a meaning by their spelling
	dynamic  set            // names that can find any variable by its spelling
	readers  set            // names that can find what a function or a class is called
	found    set            // functions that are found without being declared here
	private  bool           // what is not exported is known to the file alone
	static   string         // the word that keeps a name to its file
	linked   bool           // all files of a call share their names
	overload bool           // a name can be that of several functions, so a name of another file is not followed
	called   bool           // what nothing in the call uses may be called by its name
	bound    string         // why other files can use a name without spelling it
	source   *regexp.Regexp // text with which programs look into the text of their functions, which they can read
	texts    bool           // a text that has a name of the file does not find it within the file
	hoists   bool           // names of a file are known in all of it
	pkg      bool           // the files of a directory share their names
	inherits bool           // a name in a class may be that of a member of its base
	lexical  bool           // a name means the innermost declaration around it: new ones may stand elsewhere in the function

	macroCalls *regexp.Regexp // names that, called, may be macros: of their arguments nothing is known
	macroKnown *regexp.Regexp // those of them that use no more than they are given
}

type set map[string]bool

func setOf(names ...string) set { return set(nil).with(names) }

// with is a set with names added to it.
func (s set) with(names []string) set {
	if s == nil {
		s = make(set, len(names))
	}
	for _, name := range names {
		s[name] = true
	}
	return s
}

type lineRule int

const (
	// linesFree: a line break is like a space, but beside the tokens of breakAfter and breakBefore.
	linesFree lineRule = iota
	// linesEnd: a line break ends a statement, but in brackets and beside the tokens of joinAfter and joinBefore.
	linesEnd
	// linesIndent: as in Python.
	linesIndent
)

type scopeKind uint8

const (
	blockScope scopeKind = iota + 1
	functionScope
	classScope
	fileScope
)

// definition says where a name is declared.
type definition struct {
	kind   string // for people: "function", "variable"
	at     set    // places
	region string // block, function, outer or file
	after  string // the kind of node behind which the name is known, or "." for its place; "" for everywhere
	named  bool   // who calls it can name it
	lone   bool   // the old name stands nowhere else in the function
	pinned bool   // it must not change
	shown  bool   // programs print it
}

// shorthand is a leaf that is short for a pair of two names: {x}. Key and value may have the field in front of them:
// field.kind. The pair is - where the leaf stands in it already.
type shorthand struct{ leaf, pair, key, value string }

//go:embed tables/*.lang
var files embed.FS

// tables are read when the first file is judged.
var tables = sync.OnceValue(func() map[string]*table {
	all := map[string]*table{}
	entries, _ := files.ReadDir("tables") // a test reads each
	for _, entry := range entries {
		text, _ := files.ReadFile("tables/" + entry.Name())
		if t, err := readTable(strings.TrimSuffix(entry.Name(), ".lang"), string(text)); err == nil {
			all[t.name] = t
		}
	}
	return all
})

// Of is the language of a file, or "".
func Of(name string) string {
	extension := strings.ToLower(path.Ext(name))
	for _, t := range tables() {
		if slices.Contains(t.extensions, extension) {
			return t.name
		}
	}
	return ""
}

// Family is one name for the languages that can import from each other.
func Family(language string) string {
	if t := tables()[language]; t != nil {
		return t.family
	}
	return language
}

// readTable reads the entries of a table: a key and what it has, over several
// lines if those that follow are indented. # begins a line of comment.
func readTable(name, text string) (*table, error) {
	t := &table{name: name, grammar: name, family: name, scopes: map[string]scopeKind{}, kinds: map[kindBits]set{}, at: map[placeBits]set{}}
	if err := t.readAll(text); err != nil {
		return nil, fmt.Errorf("tables/%s.lang: %w", name, err)
	}
	return t, nil
}

func (t *table) readAll(text string) error {
	var entries []string
	for line := range strings.Lines(text) {
		switch line = strings.TrimRight(line, " \t\r\n"); {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " ") && len(entries) > 0:
			entries[len(entries)-1] += " " + strings.TrimSpace(line)
		default:
			entries = append(entries, line)
		}
	}
	for _, entry := range entries {
		key, value, _ := strings.Cut(entry, " ")
		if err := t.read(key, strings.TrimSpace(value)); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

func (t *table) read(key, value string) (err error) {
	fields := strings.Fields(value)
	if bits, ok := kindKeys[key]; ok {
		t.kinds[bits] = t.kinds[bits].with(fields)
		return nil
	}
	if bits, ok := placeKeys[key]; ok {
		t.at[bits] = t.at[bits].with(fields)
		return nil
	}
	switch to := t.entries()[key].(type) {
	case *set:
		*to = to.with(fields)
		return nil
	case **regexp.Regexp:
		*to, err = regexp.Compile(value)
		return err
	case *bool:
		*to = true
		return nil
	case *string:
		*to = value
		return nil
	}
	switch key {
	case "files":
		t.extensions = fields
	case "like":
		t.like = value
		text, err := files.ReadFile("tables/" + value + ".lang")
		if err != nil {
			return err
		}
		return t.readAll(string(text))
	case "or":
		t.or = map[string]string{fields[0]: fields[1]}
	case "lines":
		rule, ok := map[string]lineRule{"end": linesEnd, "indent": linesIndent}[value]
		if !ok {
			return fmt.Errorf("%q is neither end nor indent", value)
		}
		t.lines = rule
	case "block", "function", "class":
		kind := map[string]scopeKind{"block": blockScope, "function": functionScope, "class": classScope}[key]
		for _, f := range fields {
			t.scopes[f] = kind
		}
	case "short":
		if len(fields) != 4 {
			return fmt.Errorf("%q has not four kinds", value)
		}
		t.shorts = append(t.shorts, shorthand{fields[0], fields[1], fields[2], fields[3]})
	case "define":
		return t.readDefinition(fields)
	default:
		return fmt.Errorf("no such key")
	}
	return nil
}

// readDefinition reads KIND REGION [after NODE] [named] [lone] [pinned] [shown] at PLACE…
func (t *table) readDefinition(fields []string) error {
	at := slices.Index(fields, "at")
	if at < 2 {
		return fmt.Errorf("want KIND REGION [after NODE] [named] [lone] [pinned] at PLACE…")
	}
	d := definition{kind: strings.ReplaceAll(fields[0], "-", " "), region: fields[1]}
	if !slices.Contains([]string{"block", "function", "outer", "file", "class"}, d.region) {
		return fmt.Errorf("%q is no region", d.region)
	}
	flags := map[string]*bool{"named": &d.named, "lone": &d.lone, "pinned": &d.pinned, "shown": &d.shown}
	for i := 2; i < at; i++ {
		switch flag := flags[fields[i]]; {
		case flag != nil:
			*flag = true
		case fields[i] == "after":
			i++
			d.after = fields[min(i, at-1)]
		default:
			return fmt.Errorf("%q is not known", fields[i])
		}
	}
	d.at = setOf(fields[at+1:]...)
	t.defines = append(t.defines, d)
	return nil
}

// entries are those that a key alone says how to read.
func (t *table) entries() map[string]any {
	return map[string]any{
		"plain": &t.plain, "alone": &t.alone, "reserved": &t.reserved, "dynamic": &t.dynamic, "reader": &t.readers, "found": &t.found,
		"keep": &t.keep, "note": &t.note, "calm": &t.calm, "ordered": &t.ordered, "keep-all": &t.keepAll, "never": &t.never, "fixed": &t.fixed,
		"pinned": &t.pinned, "source": &t.source, "acts": &t.acts, "macro-call": &t.macroCalls, "macro-known": &t.macroKnown,
		"apart": &t.apart, "splices": &t.splices, "crlf": &t.crlf, "bom": &t.bom, "mentions": &t.mentions, "private": &t.private,
		"hoists": &t.hoists, "texts": &t.texts, "package": &t.pkg, "linked": &t.linked, "overload": &t.overload, "called": &t.called,
		"inherits": &t.inherits, "lexical": &t.lexical, "closed": &t.closed,
		"grammar": &t.grammar, "family": &t.family, "bound": &t.bound, "static": &t.static, "sigil": &t.sigil,
	}
}

// limit of names that a reason quotes, in bytes.
const quoted = 40

func clip(name string) string {
	if len(name) > quoted {
		return name[:quoted] + "…"
	}
	return cmp.Or(name, "it")
}
