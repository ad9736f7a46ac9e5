package syntax

// indent has Python's lines by its own rules (Language Reference, 2.1): which token begins a logical line, and how many
// blocks begin or end there. What mixes tabs and spaces so that the width of a tab counts is not compared.
func (b *builder) indent() error {
	stack, depth := []string{""}, 0
	last := &token{} // the leaf before
	for i := range b.tokens {
		t := &b.tokens[i]
		if t.flags&(opens|closes) != 0 || t.symbol == gapSymbol && t.start == t.end {
			continue
		}
		if depth == 0 && t.flags&grouped == 0 && b.begins(last.end, t.start) {
			start := t.start
			for start > 0 && b.src[start-1] != '\n' {
				start--
			}
			column := string(b.src[start:t.start])
			for _, c := range column {
				if c != ' ' && c != '\t' {
					return &fault{b.lineAt(t.start), "its indentation cannot be told"}
				}
			}
			var err error
			if stack, err = b.level(stack, column, last, t); err != nil {
				return err
			}
		}
		switch bits := b.kind(t.symbol); {
		case bits&(isOpening|isBrace) != 0:
			depth++
		case bits&isClosing != 0:
			depth = max(depth-1, 0)
		}
		last = t
	}
	last.depth += uint16(len(stack) - 1)
	return nil
}

// begins tells whether a logical line begins between two tokens, between which
// are only white space, comments and line breaks that a backslash joins.
func (b *builder) begins(end, start uint32) bool {
	if end == 0 {
		return true
	}
	joined := false
	for i := end; i < start; i++ {
		switch c := b.src[i]; c {
		case '#':
			for i+1 < start && b.src[i+1] != '\n' {
				i++
			}
		case '\n':
			if !joined {
				return true
			}
			joined = false
		default:
			joined = c == '\\' || joined && c == '\r'
		}
	}
	return false
}

// level is the stack of open blocks at a line that begins with a column. Those
// that end there are counted at the last leaf in them.
func (b *builder) level(stack []string, column string, last, t *token) ([]string, error) {
	top := stack[len(stack)-1]
	t.flags |= broken
	switch {
	case column == top:
	case len(column) > len(top) && column[:len(top)] == top && b.src[max(last.end, 1)-1] == ':':
		t.flags |= indented
		stack = append(stack, column)
	default:
		for len(stack) > 0 && stack[len(stack)-1] != column {
			stack = stack[:len(stack)-1]
			last.depth++
		}
		if len(stack) == 0 {
			return nil, &fault{b.lineAt(t.start), "its indentation is none of the blocks around it"}
		}
	}
	return stack, nil
}
