package treesitter

// Module unpacks the WebAssembly of a language.
func Module(language string) ([]byte, error) { return module(language) }

// Loaded tells which languages have compiled modules.
func (p *Parsers) Loaded() int {
	p.guard.RLock()
	defer p.guard.RUnlock()
	return len(p.grammars)
}

// FieldName is the name under which the node's parent knows it, or empty.
func (t *Tree) FieldName(node int) string {
	if f := int(t.Nodes[node].Field); f > 0 && f < len(t.Grammar.Fields) {
		return t.Grammar.Fields[f]
	}
	return ""
}
