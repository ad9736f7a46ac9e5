package treesitter

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Language names a grammar.
type Language string

// The languages that have a module.
const (
	C          Language = "c"
	CPlusPlus  Language = "cpp"
	CSharp     Language = "csharp"
	Java       Language = "java"
	JavaScript Language = "javascript" // with JSX
	Kotlin     Language = "kotlin"
	PHP        Language = "php"
	Python     Language = "python"
	Ruby       Language = "ruby"
	Rust       Language = "rust"
	TSX        Language = "tsx"
	TypeScript Language = "typescript"
)

//go:embed modules/*.wasm.zst
var modules embed.FS

// Languages are all that can be parsed: those that have a module.
var Languages = sync.OnceValue(func() (all []Language) {
	entries, _ := modules.ReadDir("modules") // they are in the program
	for _, e := range entries {
		all = append(all, Language(strings.TrimSuffix(e.Name(), ".wasm.zst")))
	}
	return all
})

// module unpacks the WebAssembly of a language.
func module(language Language) ([]byte, error) {
	if !slices.Contains(Languages(), language) {
		return nil, fmt.Errorf("%w: %q", ErrLanguage, language)
	}
	packed, err := modules.ReadFile("modules/" + string(language) + ".wasm.zst")
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	return decoder.DecodeAll(packed, nil)
}
