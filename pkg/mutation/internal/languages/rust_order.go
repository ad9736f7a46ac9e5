package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// rustOuter are the attributes that a compiler knows, and that say nothing of
// where an item stands.
var rustOuter = setOf("test", "inline", "must_use", "allow", "warn", "deny", "expect", "cfg", "doc", "deprecated", "derive", "cold", "track_caller", "ignore",
	"should_panic", "repr", "default", "non_exhaustive", "rustfmt", "clippy", "automatically_derived", "serde", "tokio", "async_trait",
	"target_feature")

func rustHolds(l *language) {
	l.holds = func(s *side, n int) bool { return s.kind(n) == "source_file" || s.kind(n) == "declaration_list" }
	l.leads = func(s *side, n int) bool {
		if k := s.kind(n); k == "line_comment" || k == "block_comment" {
			text := s.tree.Source(n)
			return !strings.HasPrefix(text, "//!") && !strings.HasPrefix(text, "/*!")
		}
		return s.kind(n) == "attribute_item"
	}
	l.order = func(s *side, n int, leads []int) ordering {
		o := fenced()
		switch s.kind(n) {
		case "function_item", "struct_item", "enum_item", "union_item", "trait_item", "type_item", "const_item", "static_item", "associated_type",
			"function_signature_item", "mod_item":
			o = s.declares(tree.Free, s.child(n, "name"), "")
		case "impl_item", "use_declaration":
			o = ordering{order: tree.Free, leaf: -1}
		}
		// Two of one name are there under different conditions.
		o.defines = nil
		if s.kind(n) == "mod_item" && s.contains(n, setOf("macro_definition")) {
			return fenced()
		}
		for _, lead := range leads {
			if s.kind(lead) != "attribute_item" {
				continue
			}
			if !rustKnown(strings.TrimLeft(s.tree.Source(lead), "#[! \t\r\n")) {
				return fenced() // a macro, or something for macros
			}
		}
		return o
	}
}

// rustKnown tells whether an attribute is known: its text from its name on.
// #[cfg_attr(condition, ATTRIBUTE, …)] is if all of its attributes are.
func rustKnown(text string) bool {
	end := strings.IndexFunc(text, func(r rune) bool { return !isLetter(r) && r != '_' })
	if end <= 0 || text[:end] != "cfg_attr" {
		return end > 0 && rustOuter[text[:end]]
	}
	depth, from := 0, -1
	for i, r := range text {
		switch {
		case strings.ContainsRune("([{", r):
			depth++
		case strings.ContainsRune(")]}", r):
			depth--
		case r == '"':
			return rustQuoted(text)
		}
		if atEnd := depth == 0 && r == ')'; depth == 1 && r == ',' || atEnd {
			if from >= 0 && strings.TrimSpace(text[from:i]) != "" && !rustKnown(strings.TrimSpace(text[from:i])+" ") {
				return false
			}
			if from = i + 1; atEnd {
				return true
			}
		}
	}
	return false
}

// rustQuoted is rustKnown without the texts of an attribute.
func rustQuoted(text string) bool {
	parts := strings.Split(text, `"`)
	for i := 1; i < len(parts); i += 2 {
		if strings.HasSuffix(parts[i], `\`) || i == len(parts)-1 {
			return false
		}
		parts[i] = ""
	}
	return rustKnown(strings.Join(parts, "_"))
}
