package workspace

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Protection says how far a path is out of reach for tools that change files.
type Protection int

// Protections, from none to strict.
const (
	// ProtectNone: the intent's scope alone decides.
	ProtectNone Protection = iota
	// ProtectProgramConfig: the path makes another program run code or grant rights; a change needs an approval even
	// inside the scope.
	ProtectProgramConfig
	// ProtectNever: governance files and git's own; no file tool may change them.
	ProtectNever
	// ProtectOwn: what this program keeps of the user outside of workspaces, its settings and keys; no tool may change it,
	// and none may read it.
	ProtectOwn
)

func (p Protection) String() string {
	switch p {
	case ProtectProgramConfig:
		return "program configuration"
	case ProtectNever:
		return "protected"
	case ProtectOwn:
		return "this program's own"
	}
	return "none"
}

// ProtectionOf is the protection with that text; ProtectNone for any other text.
func ProtectionOf(text string) Protection {
	for p := ProtectProgramConfig; p <= ProtectOwn; p++ {
		if p.String() == text {
			return p
		}
	}
	return ProtectNone
}

// Protect classifies a workspace-relative path by its names alone, so it holds for files that do not exist yet. Each
// component counts, at any depth: nested repositories and nested workspaces are protected like the outer one. Names are
// compared as the least exact file system would: in any letter case, without the characters that HFS+ and ext4's case
// folding ignore, without the trailing dots and spaces and the streams of NTFS, and by NTFS's short names.
func Protect(path string) Protection {
	var p protector
	for name := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
		p.add(name)
	}
	return p.strictest
}

// protector classifies the names of a path one after the other.
type protector struct {
	strictest Protection
	parent    string
}

func (p *protector) add(name string) {
	folded := fold(name)
	p.strictest = max(p.strictest, protectName(folded))
	if p.parent == ".github" && slices.Contains([]string{"agents", "chatmodes", "hooks", "mcp.json", "copilot"}, folded) {
		p.strictest = max(p.strictest, ProtectProgramConfig)
	}
	p.parent = folded
}

// protectName classifies one folded name.
func protectName(folded string) Protection {
	if IsTemp(folded) {
		return ProtectNever // listings hide our own temporary files, so nobody else may make one
	}
	switch folded {
	case ".git", ".orchestration", ".intentignore":
		return ProtectNever
	case ".mcp.json", ".cursor", ".roo", ".vscode", ".claude", ".envrc", ".roomodes",
		".codex", ".gemini", ".devin", ".windsurf", ".cline", ".clinerules", ".opencode", "opencode.json", "opencode.jsonc":
		return ProtectProgramConfig
	}
	switch stem, digits, ok := strings.Cut(folded, "~"); {
	case !ok || digits == "" || digits[0] < '1' || digits[0] > '9':
		return ProtectNone
	case stem == "git" || stem == "orches" || stem == "intent":
		return ProtectNever
	case slices.Contains(strings.Fields("mcp cursor roo vscode claude envrc codex gemini devin windsu cline cliner openco"), stem):
		return ProtectProgramConfig
	}
	return ProtectNone
}

// fold maps a name to what a lenient file system would take it for.
func fold(name string) string {
	name, _, _ = strings.Cut(name, ":")
	if strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		name = strings.Map(dropIgnorable, name)
		name = norm.NFKC.String(cases.Fold().String(norm.NFKC.String(name)))
		name = strings.Map(dropIgnorable, name)
	}
	return strings.TrimRight(strings.ToLower(name), ". ")
}

func dropIgnorable(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
		return -1
	}
	return r
}
