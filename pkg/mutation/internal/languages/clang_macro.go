package languages

import (
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// heedMacros pins the locals of functions in which a macro stands that another
// file defines: its text may have a local of that name in it.
func (s *side) heedMacros() {
	for n := range s.tree.Nodes {
		if s.kind(n) != "identifier" || !s.unknownMacro(n) {
			continue
		}
		region := s.scopeAt(n).region()
		if region.kind != function {
			continue
		}
		name := s.tree.Source(n)
		for _, o := range s.declared {
			if s.within(o.region, s.tree.Nodes[n].Start) && o.region.kind == function {
				o.pin("the macro " + name + " may use it")
			}
		}
	}
}

// unknownMacro tells whether a name is, by its letters and where it stands, a
// macro that does more than to stand for a value.
func (s *side) unknownMacro(n int) bool {
	name := s.tree.Source(n)
	if len(name) < 2 || strings.ToUpper(name) != name || !strings.ContainsFunc(name, isUpper) || s.macros()[name] || knownMacros[name] {
		return false
	}
	return !s.inFamily(name) && !s.ownFunction(n, name) && (s.place(n) == "call_expression.function" || s.parentKind(n) == "expression_statement")
}

// inFamily tells whether a name is one of the checks and logs that evaluate what
// they are given, and no more.
func (s *side) inFamily(name string) bool {
	return s.language.grammar == treesitter.CPlusPlus && !s.macros()[name] &&
		slices.ContainsFunc(macroFamilies, func(family string) bool { return strings.HasPrefix(name, family) })
}

// checked are the checks of GoogleTest that evaluate all that they are given.
// Others that begin like them could be of a project, and take names of members.
var checked = setOf("EQ", "NE", "LT", "LE", "GT", "GE", "TRUE", "FALSE", "STREQ", "STRNE", "FLOAT_EQ", "DOUBLE_EQ", "NEAR")

// evaluates tells whether a macro reads what it is given as expressions.
func (s *side) evaluates(name string) bool {
	if !s.inFamily(name) {
		return false
	}
	for _, prefix := range []string{"EXPECT_", "ASSERT_"} {
		if check, found := strings.CutPrefix(name, prefix); found {
			return checked[check]
		}
	}
	return strings.HasPrefix(name, "ABSL_")
}

// ownFunction tells whether a name in capitals is a function of the file.
func (s *side) ownFunction(n int, name string) bool {
	o := s.lookup(s.scopeAt(n), name, s.tree.Nodes[n].Start)
	return o != nil && o.Kind == "function"
}

// macroFamilies are the checks and logs of widespread libraries of C++.
var macroFamilies = strings.Fields("EXPECT_ ASSERT_ ABSL_LOG ABSL_CHECK ABSL_DCHECK ABSL_RAW_ ABSL_PREDICT_ ABSL_FALLTHROUGH_INTENDED BOOST_ASSERT BOOST_TEST BOOST_CHECK")

// knownMacros are those of the standards, and some whose names have one meaning
// by convention: what they use is what they are given.
var knownMacros = setOf(strings.Fields(`NULL EOF BUFSIZ EXIT_SUCCESS EXIT_FAILURE RAND_MAX CHAR_BIT CHAR_MAX CHAR_MIN INT_MAX INT_MIN UINT_MAX LONG_MAX
	LONG_MIN ULONG_MAX LLONG_MAX LLONG_MIN ULLONG_MAX SHRT_MAX SHRT_MIN USHRT_MAX SCHAR_MAX SCHAR_MIN UCHAR_MAX SIZE_MAX SSIZE_MAX PATH_MAX
	INT8_C INT16_C INT32_C INT64_C UINT8_C UINT16_C UINT32_C UINT64_C INTMAX_C UINTMAX_C INT8_MAX INT16_MAX INT32_MAX INT64_MAX UINT8_MAX UINT16_MAX
	UINT32_MAX UINT64_MAX INT8_MIN INT16_MIN INT32_MIN INT64_MIN INTPTR_MAX UINTPTR_MAX PTRDIFF_MAX SEEK_SET SEEK_CUR SEEK_END STDIN_FILENO
	STDOUT_FILENO STDERR_FILENO TRUE FALSE MIN MAX ABS ARRAY_SIZE COUNTOF LIKELY UNLIKELY UNUSED UNUSED_ARG BIT
	WEXITSTATUS WIFEXITED WIFSIGNALED WTERMSIG WIFSTOPPED WSTOPSIG S_ISREG S_ISDIR S_ISLNK S_ISCHR S_ISBLK S_ISFIFO S_ISSOCK FD_SET FD_CLR FD_ISSET FD_ZERO
	CMSG_DATA CMSG_FIRSTHDR CMSG_NXTHDR CMSG_LEN CMSG_SPACE HUGE_VAL INFINITY NAN CLOCKS_PER_SEC`)...)

// macroLayout is a macro's definition with one space between its tokens, if its
// replacement has brackets: then it is code, and white space in it is layout.
// Without any it may be a path or a version that a program makes a text of.
func macroLayout(text string, code bool) string {
	if !code || strings.Contains(text, `R"`) {
		return text
	}
	var parts []string
	for rest := text; rest != ""; {
		length := macroToken(rest)
		if token := rest[:length]; token != " " {
			parts = append(parts, token)
		}
		rest = rest[length:]
	}
	return strings.Join(parts, " ")
}

// macroToken is how long the token at the beginning of a text is.
func macroToken(text string) int {
	number := text[0] >= '0' && text[0] <= '9' || text[0] == '.' && len(text) > 1 && text[1] >= '0' && text[1] <= '9'
	switch c := text[0]; {
	case number || isLetter(rune(c)) || c == '_' || c == '$' || c > 127:
		end := 1
		for end < len(text) && (text[end] == '_' || text[end] == '$' || text[end] > 127 || isLetter(rune(text[end])) ||
			number && (text[end] == '.' || text[end] == '\'' || (text[end] == '+' || text[end] == '-') && strings.IndexByte("eEpP", text[end-1]) >= 0)) {
			end++
		}
		return end
	case c == '"' || c == '\'':
		end := 1
		for end < len(text) && text[end] != c {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		return min(end+1, len(text))
	}
	for _, sign := range clangSigns {
		if strings.HasPrefix(text, sign) {
			return len(sign)
		}
	}
	return 1
}

// clangSigns are the operators of more than one character, the longest first.
var clangSigns = []string{"%:%:", "<<=", ">>=", "...", "->*", "<=>", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=",
	"/=", "%=", "&=", "|=", "^=", "##", "::", ".*", "<:", ":>", "<%", "%>", "%:"}
