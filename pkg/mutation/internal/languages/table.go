package languages

import (
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// tables are the tables of this package, made when a first text is compared.
var tables = sync.OnceValue(func() map[treesitter.Language]*language {
	return map[treesitter.Language]*language{
		treesitter.JavaScript: script(treesitter.JavaScript),
		treesitter.TypeScript: script(treesitter.TypeScript),
		treesitter.TSX:        script(treesitter.TSX),
		treesitter.Python:     python(),
		treesitter.Java:       java(),
		treesitter.C:          clang(treesitter.C),
		treesitter.CPlusPlus:  clang(treesitter.CPlusPlus),
		treesitter.CSharp:     csharp(),
		treesitter.Rust:       rust(),
		treesitter.PHP:        php(),
		treesitter.Ruby:       ruby(),
		treesitter.Kotlin:     kotlin(),
	}
})
