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

	comments set            // kinds of nodes that are layout
	keep     *regexp.Regexp // comments that a compiler, an interpreter or a tool reads
	note     *regexp.Regexp // what is read of a comment: its first group
	keepAll  *regexp.Regexp // text with which a file has all its comments read
	never    *regexp.Regexp // text with which a file is not compared
	fixed    *regexp.Regexp // text with which a file has no renamed names
	apart    bool           // a fault in one declaration says nothing about the others

	lines       lineRule
	joinAfter   set  // tokens behind which a line break is layout
	joinBefore  set  // tokens before which it is
	breakAfter  set  // tokens behind which it has meaning
	breakBefore set  // tokens before which it has, also in brackets
	tight       set  // tokens beside which a space has meaning
	prefix      set  // tokens of which a space in front and none behind has meaning
	macros      set  // kinds of nodes in which each space has meaning
	splices     bool // a backslash at the end of a line is layout

	exact    set    // kinds of nodes with meaning in their white space
	whole    set    // kinds of nodes that are compared as one text
	quotes   set    // those of them in which ' and " are the same
	lower    set    // kinds of leaves that may be written in capitals
	folds    set    // those in which line breaks and indentation are one space
	crlf     bool   // CR LF in a text is LF
	bom      bool   // a byte order mark is layout
	drop     places // tokens without meaning
	empty    places // nodes without meaning where they have no named parts
	trailing set    // kinds of nodes in which a comma before the end is layout
	group    places // parentheses that only group
	unwrap   places // nodes of one part that stand for it
	stays    set    // kinds of nodes around which parentheses stay

	names        set    // kinds of leaves that can name a variable
	neutral      places // where such a leaf names something else
	members      places // where it names a member of this or self
	tags         places // where it does if it begins with a capital, and else names no variable
	keywords     places // where it names a parameter of what is called
	shows        places // tokens that have a node print its own text
	shorts       []shorthand
	interpolated set // kinds of leaves that begin with a name if one that is $ stands before them
	scopes       map[string]scopeKind
	outside      places // parts of a scope that belong to the one around it
	defines      []definition
	patterns     set    // kinds of nodes between a definition and its names
	values       places // parts of patterns that are none
	escapes      places // names that say that a variable belongs to the file
	unsure       places // what is not resolved, and its names neither
	opaque       set    // kinds of nodes whose names are not resolved
	guards       set    // kinds of nodes around a declaration that may look at its name and parameters
	sigil        string // what such a name lacks
	behind       set    // tokens behind which it names something else
	paired       places // where it does, unless nothing follows the sign behind it
	closed       bool   // a function sees no variables of what is around it
	choices      set    // kinds of nodes of which not all may be there: nor may what they declare

	lists    set            // kinds of nodes whose parts may change places
	free     set            // parts that may stand anywhere among them
	still    set            // parts that only declare, when they are reached
	wraps    set            // kinds of nodes around a part that leave it what it is
	leads    set            // parts that belong to the next one
	nameless set            // those of them that declare no name
	fences   places         // what nothing may pass that has it
	trails   set            // parts that belong to the one before
	noisy    set            // what makes a part more than a declaration
	mentions bool           // parts must not pass what mentions them
	hides    set            // parts behind which the next one is not resolved, unless they are calm
	plain    set            // macros that read expressions
	calm     *regexp.Regexp // text of what is noisy otherwise, and is not
	ordered  *regexp.Regexp // text with which all parts of a file keep their places
	alone    set            // words with which they do not
	loud     set            // what does so also in the body of a function
	acts     *regexp.Regexp // text with which a part is more than a declaration

	reserved set
	pinned   *regexp.Regexp // names that have a meaning by their spelling
	dynamic  set            // names that can find any variable by its spelling
	readers  set            // names that can find what a function or a class is called
	found    set            // functions that are found without being declared here
	private  bool           // what is not exported is known to the file alone
	exports  set            // kinds of nodes around what is
	static   string         // the word that keeps a name to its file
	linked   bool           // all files of a call share their names
	overload bool           // a name can be that of several functions, so a name of another file is not followed
	called   bool           // what nothing in the call uses may be called by its name
	imports  set            // kinds of nodes that import names from the file that they name
	modules  set            // kinds of nodes that make a file a module
	bound    string         // why other files can use a name without spelling it
	source   *regexp.Regexp // text with which programs look into the text of their functions, which they can read
	texts    bool           // a text that has a name of the file does not find it within the file
	hoists   bool           // names of a file are known in all of it
	pkg      bool           // the files of a directory share their names
	inherits bool           // a name in a class may be that of a member of its base
	wild     places         // what can use any name around it
	lexical  bool           // a name means the innermost declaration around it: new ones may stand elsewhere in the function

	directives set            // kinds of leaves that the C preprocessor reads
	macroCalls *regexp.Regexp // names that, called, may be macros: of their arguments nothing is known
	macroKnown *regexp.Regexp // those of them that use no more than they are given
}

type set map[string]bool

func setOf(names ...string) set {
	s := make(set, len(names))
	for _, name := range names {
		s[name] = true
	}
	return s
}

// places are "parent.field" or "parent.field/child", by the parent's kind, the
// field ("" for none) and the kind of the node itself.
type places map[string]bool

type lineRule int

const (
	// linesFree: a line break is like a space, but beside the tokens of breakAfter
	// and breakBefore.
	linesFree lineRule = iota
	// linesEnd: a line break ends a statement, but in brackets and beside the
	// tokens of joinAfter and joinBefore.
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
	at     places
	region string // block, function, outer or file
	after  string // the kind of node behind which the name is known, or "." for its place; "" for everywhere
	named  bool   // who calls it can name it
	lone   bool   // the old name stands nowhere else in the function
	pinned bool   // it must not change
	shown  bool   // programs print it
}

// shorthand is a leaf that is short for a pair of two names: {x}.
// Key and value may have the field in front of them: field.kind. The pair is - where
// the leaf stands in it already.
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
	t := &table{name: name, grammar: name, family: name, scopes: map[string]scopeKind{}}
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
	if to, ok := t.sets()[key]; ok {
		if *to == nil {
			*to = set{}
		}
		for _, f := range fields {
			(*to)[f] = true
		}
		return nil
	}
	if to, ok := t.places()[key]; ok {
		addPlaces(to, fields)
		return nil
	}
	if to, ok := t.regexps()[key]; ok {
		*to, err = regexp.Compile(value)
		return err
	}
	if to, ok := t.flags()[key]; ok {
		*to = true
		return nil
	}
	switch key {
	case "files":
		t.extensions = fields
	case "grammar":
		t.grammar = value
	case "family":
		t.family = value
	case "like":
		t.like = value
		text, err := files.ReadFile("tables/" + value + ".lang")
		if err != nil {
			return err
		}
		return t.readAll(string(text))
	case "bound":
		t.bound = value
	case "or":
		t.or = map[string]string{fields[0]: fields[1]}
	case "static":
		t.static = value
	case "sigil":
		t.sigil = value
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
	for i := 2; i < at; i++ {
		switch fields[i] {
		case "named":
			d.named = true
		case "lone":
			d.lone = true
		case "pinned":
			d.pinned = true
		case "shown":
			d.shown = true
		case "after":
			i++
			d.after = fields[min(i, at-1)]
		default:
			return fmt.Errorf("%q is not known", fields[i])
		}
	}
	addPlaces(&d.at, fields[at+1:])
	t.defines = append(t.defines, d)
	return nil
}

func addPlaces(to *places, fields []string) {
	if *to == nil {
		*to = places{}
	}
	for _, f := range fields {
		(*to)[f] = true
	}
}

func (t *table) sets() map[string]*set {
	return map[string]*set{
		"comment": &t.comments, "join-after": &t.joinAfter, "join-before": &t.joinBefore, "break-after": &t.breakAfter, "break-before": &t.breakBefore,
		"tight": &t.tight, "prefix": &t.prefix, "macro": &t.macros, "exact": &t.exact, "whole": &t.whole, "quotes": &t.quotes, "fold": &t.folds,
		"trailing": &t.trailing, "name": &t.names, "pattern": &t.patterns, "opaque": &t.opaque, "guard": &t.guards, "list": &t.lists, "free": &t.free, "still": &t.still,
		"wrap": &t.wraps, "lead": &t.leads, "noisy": &t.noisy, "nameless": &t.nameless, "import": &t.imports, "trail": &t.trails, "reserved": &t.reserved, "dynamic": &t.dynamic, "reader": &t.readers,
		"export": &t.exports, "module": &t.modules, "stays": &t.stays, "hides": &t.hides, "plain": &t.plain, "text": &t.interpolated, "loud": &t.loud, "alone": &t.alone, "lower": &t.lower, "behind": &t.behind, "choice": &t.choices, "found": &t.found, "directive": &t.directives,
	}
}

func (t *table) places() map[string]*places {
	return map[string]*places{"drop": &t.drop, "group": &t.group, "neutral": &t.neutral, "member": &t.members, "outside": &t.outside, "value": &t.values, "escape": &t.escapes, "keyword": &t.keywords, "show": &t.shows, "unsure": &t.unsure,
		"unwrap": &t.unwrap, "tag": &t.tags, "fence": &t.fences, "wild": &t.wild, "paired": &t.paired, "empty": &t.empty}
}

func (t *table) regexps() map[string]**regexp.Regexp {
	return map[string]**regexp.Regexp{"keep": &t.keep, "note": &t.note, "calm": &t.calm, "ordered": &t.ordered, "keep-all": &t.keepAll, "never": &t.never, "fixed": &t.fixed, "pinned": &t.pinned,
		"source": &t.source, "acts": &t.acts, "macro-call": &t.macroCalls, "macro-known": &t.macroKnown}
}

func (t *table) flags() map[string]*bool {
	return map[string]*bool{"apart": &t.apart, "splices": &t.splices, "crlf": &t.crlf, "bom": &t.bom, "mentions": &t.mentions, "private": &t.private, "hoists": &t.hoists, "texts": &t.texts, "package": &t.pkg, "linked": &t.linked, "overload": &t.overload, "called": &t.called, "inherits": &t.inherits,
		"lexical": &t.lexical, "closed": &t.closed}
}

// limit of names that a reason quotes, in bytes.
const quoted = 40

func clip(name string) string {
	if len(name) > quoted {
		return name[:quoted] + "…"
	}
	return cmp.Or(name, "it")
}
