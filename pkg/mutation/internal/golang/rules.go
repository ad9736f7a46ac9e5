package golang

import (
	"fmt"
	"go/token"
	"slices"
	"strings"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// predeclared are the names of the universe block. A package-level name that
// is one of them changes what other files of the package mean.
var predeclared = words(`any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string
	uint uint8 uint16 uint32 uint64 uintptr true false iota nil append cap clear close complex copy delete imag len make max min new
	panic print println real recover`)

// wellKnown are methods that packages of the standard library look for in
// values of any type, and so call without naming them in these files.
var wellKnown = words(`Add After Alignment AppendBinary AppendText As Async At BinaryAppender Bounds Cause CheckNamedValue Clone Close
	CloseWrite ColorModel Columns Commit ConvertAssign Convert Count Deadline Decode Done Draw Driver DriverContext Encode Err Error Exec
	ExecContext Flush Format FormatError FprintTo Generate Get Glob GoString GobDecode GobEncode Handle HandleFunc Hijack Info Init Int63
	Is IsBoolFlag IsDir IsValid IsZero Len Less Level LocalAddr LogValue Lookup MarshalBinary MarshalJSON MarshalJSONTo MarshalText
	MarshalXML MarshalXMLAttr ModTime Mode Name Network Next Open Opt Peek Ping Pop Prepare Push Put Quick Raw Read ReadAt ReadByte
	ReadContext ReadDir ReadFile ReadFrom ReadLink ReadRune ReadString RemoteAddr Reset ResetSession Rollback RoundTrip Run Scan
	Seed Seek ServeHTTP Set SetDeadline SetReadDeadline SetWriteDeadline Setenv Size Source Stat Stop String Sub Sum Swap Sync Sys
	SyscallConn Temporary Timeout Tick Type Uint64 UnmarshalBinary UnmarshalJSON UnmarshalJSONFrom UnmarshalText UnmarshalXML
	UnmarshalXMLAttr UnreadByte UnreadRune Unwrap Valid Value Visit Walk Write WriteAt WriteByte WriteContext WriteHeader WriteRune
	WriteString WriteTo`)

func words(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for _, w := range strings.Fields(list) {
			set[w] = true
		}
		return set
	})
}

// rules say which renamings keep what a program does.
type rules struct {
	before, after *side
	owners        map[*tree.Object]*typeInfo
	// methods gives for each name of a method before what it became.
	methods map[string]map[string]bool
}

func newRules(before, after *side) *rules {
	r := &rules{before: before, after: after, owners: map[*tree.Object]*typeInfo{}, methods: map[string]map[string]bool{}}
	for _, s := range []*side{before, after} {
		for _, info := range s.types {
			r.own(info)
		}
		for _, info := range s.elsewhere {
			r.own(info)
		}
	}
	return r
}

func (r *rules) own(info *typeInfo) {
	for _, members := range []map[string]*member{info.fields, info.methods} {
		for _, m := range members {
			r.owners[m.object] = info
		}
	}
}

// check returns why a renaming is not one that keeps the meaning, or "".
func (r *rules) check(p *tree.Pairing) (why string, at *tree.Object) {
	for b, a := range p.Each {
		if isMethod(b) {
			if r.methods[b.Name] == nil {
				r.methods[b.Name] = map[string]bool{}
			}
			r.methods[b.Name][a.Name] = true
		}
	}
	for b, a := range p.Each {
		if b.Name == a.Name {
			continue
		}
		if why := r.object(b, a); why != "" {
			return fmt.Sprintf("the %s %q was renamed to %q, but %s", b.Kind, b.Name, a.Name, why), a
		}
	}
	return "", nil
}

func isMethod(o *tree.Object) bool { return o.Kind == "method" || o.Kind == "interface method" }

func (r *rules) object(b, a *tree.Object) string {
	switch {
	case b.Pinned != "":
		return b.Pinned
	case a.Pinned != "":
		return a.Pinned
	case b.Reach == tree.Member:
		return r.member(b, a)
	case b.Reach == tree.Shared && b.Kind != "local type":
		return r.global(b, a)
	}
	return ""
}

func (r *rules) global(b, a *tree.Object) string {
	for _, o := range []*tree.Object{b, a} {
		if predeclared()[o.Name] {
			return fmt.Sprintf("%q is predeclared, and means something else in the other files", o.Name)
		}
	}
	// Where names change hands, other files go on to compile and mean something
	// else.
	if r.before.pkg.names[a.Name] != nil || r.after.pkg.names[b.Name] != nil {
		return "the name stood for something else before, or does so now"
	}
	for _, f := range r.before.files {
		if f.isTest() && b.Kind == "function" && (testKind(b.Name) != testKind(a.Name) || testKind(b.Name) == "Example" || testKind(b.Name) == "Fuzz" || b.Name == "TestMain" || a.Name == "TestMain") {
			return "go test finds functions by their names"
		}
	}
	return r.mentioned(b, a)
}

func (r *rules) mentioned(b, a *tree.Object) string {
	for _, f := range slices.Concat(r.before.files, r.after.files) {
		if f.mentions(b.Name) || f.mentions(a.Name) {
			return "a directive names it"
		}
	}
	return ""
}

// member judges the renaming of a field or a method.
func (r *rules) member(b, a *tree.Object) string {
	exported := token.IsExported(b.Name) || token.IsExported(a.Name)
	for _, name := range []string{b.Name, a.Name} {
		if r.before.fixed[name] || r.after.fixed[name] {
			return fmt.Sprintf("%q also stands where these files do not tell of which type it is", name)
		}
	}
	if token.IsExported(b.Name) != token.IsExported(a.Name) {
		return "exported members are found by packages that read them at run time"
	}
	if isMethod(b) && (wellKnown()[b.Name] || wellKnown()[a.Name]) {
		return "the standard library looks for methods of such a name"
	}
	if has(r.owners[b], a.Name) || has(r.owners[a], b.Name) {
		return "the name stood for another member before, or does so now"
	}
	if exported && (r.mixes(r.before, b) || r.mixes(r.after, a)) {
		return "its type is embedded or embeds others, whose members it can hide"
	}
	if why := r.mentioned(b, a); why != "" || !isMethod(b) {
		return why
	}
	switch {
	case exported && b.Kind == "interface method":
		return "types in other files can have it"
	case len(r.methods[b.Name]) > 1:
		return fmt.Sprintf("other methods %q were not", b.Name)
	case r.methods[a.Name] != nil:
		return fmt.Sprintf("there was a method %q before", a.Name)
	}
	return ""
}

func has(info *typeInfo, name string) bool {
	return info != nil && (info.fields[name] != nil || info.methods[name] != nil)
}

// mixes tells whether members of other types can stand beside this one.
func (r *rules) mixes(s *side, o *tree.Object) bool {
	info := r.owners[o]
	if info == nil || info.object == nil || info.embedded {
		return true
	}
	for range maxHops {
		switch expr := info.expr; {
		case expr == nil:
			return true
		case expr.Kind == "struct" || expr.Kind == "interface":
			return len(info.embeds) > 0
		case expr.Kind == "slice type" || expr.Kind == "array type" || expr.Kind == "map type" || expr.Kind == "function type" || expr.Kind == "channel type":
			return false
		case expr.Kind == "name" && expr.Object == nil && predeclaredTypes[expr.Text]:
			return false
		}
		if info = s.declared(info.expr); info == nil {
			return true
		}
	}
	return true
}

// shared tells whether something that other files could use was renamed.
func shared(o *tree.Object) bool { return o.Reach != tree.Local }
