package treesitter

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

//go:embed modules/*.wasm.zst
var modules embed.FS

// Languages are all that can be parsed: those that have a module.
var Languages = sync.OnceValue(func() (all []string) {
	entries, _ := modules.ReadDir("modules") // they are in the program
	for _, e := range entries {
		all = append(all, strings.TrimSuffix(e.Name(), ".wasm.zst"))
	}
	return all
})

// module unpacks the WebAssembly of a language.
func module(language string) ([]byte, error) {
	if !slices.Contains(Languages(), language) {
		return nil, fmt.Errorf("%w: %q", ErrLanguage, language)
	}
	packed, err := modules.ReadFile("modules/" + language + ".wasm.zst")
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
