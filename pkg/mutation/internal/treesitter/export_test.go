package treesitter

// Module unpacks the WebAssembly of a language.
func Module(language Language) ([]byte, error) { return module(language) }

// Loaded tells which languages have compiled modules.
func (p *Parsers) Loaded() int {
	p.guard.RLock()
	defer p.guard.RUnlock()
	return len(p.grammars)
}
