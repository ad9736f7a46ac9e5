package languages

import "github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"

// languages are the tables of this package.
var languages = map[treesitter.Language]*language{
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
