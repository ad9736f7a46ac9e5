package languages

import "strings"

// isText tells which leaves are no code.
func isText(kind string) bool {
	for _, part := range []string{"string", "char", "text", "heredoc", "nowdoc", "escape", "raw"} {
		if strings.Contains(kind, part) {
			return true
		}
	}
	return false
}

// hasWord tells whether a text has a name that no letter stands beside.
func hasWord(text, name string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		if (i == 0 || !isNameByte(text[i-1])) && (i+len(name) == len(text) || !isNameByte(text[i+len(name)])) {
			return true
		}
		from = i + 1
	}
}

func isNameByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}

func replaceWord(text, from, to string) string {
	var b strings.Builder
	at := 0
	for {
		i := strings.Index(text[at:], from)
		if i < 0 {
			return b.String() + text[at:]
		}
		i += at
		end := i + len(from)
		b.WriteString(text[at:i])
		if (i == 0 || !isNameByte(text[i-1])) && (end == len(text) || !isNameByte(text[end])) {
			b.WriteString(to)
		} else {
			b.WriteString(from)
		}
		at = end
	}
}
