package treesitter

import (
	"bytes"
	"context"
	"fmt"

	"github.com/tetratelabs/wazero/api"
)

// call calls an exported function that returns one word.
func call(ctx context.Context, m api.Module, name string, args ...uint64) (uint32, error) {
	function := m.ExportedFunction(name)
	if function == nil {
		return 0, fmt.Errorf("%w: the module does not export %s", ErrFault, name)
	}
	results, err := function.Call(ctx, args...)
	if err != nil {
		return 0, fault(ctx, err)
	}
	return uint32(results[0]), nil
}

func parse(ctx context.Context, m api.Module, text []byte) ([]Node, error) {
	address, err := call(ctx, m, "text_buffer", uint64(len(text)))
	if err != nil {
		return nil, err
	}
	if address == 0 || !m.Memory().Write(address, text) {
		return nil, fmt.Errorf("%w: no memory for the text", ErrFault)
	}
	count, err := call(ctx, m, "parse", uint64(len(text)))
	if err != nil {
		return nil, err
	}
	address, err = call(ctx, m, "node_buffer")
	if err != nil {
		return nil, err
	}
	if count > memoryPages<<16/nodeSize {
		return nil, fmt.Errorf("%w: %d nodes", ErrFault, count)
	}
	wire, ok := m.Memory().Read(address, count*nodeSize)
	if !ok {
		return nil, fmt.Errorf("%w: the nodes are outside of its memory", ErrFault)
	}
	return decode(wire, len(text))
}

func readGrammar(ctx context.Context, m api.Module) (*Grammar, error) {
	symbols, err := names(ctx, m, "symbol_count", "symbol_name", 0)
	if err != nil {
		return nil, err
	}
	// Fields are counted from 1.
	fields, err := names(ctx, m, "field_count", "field_name", 1)
	if err != nil {
		return nil, err
	}
	return &Grammar{Symbols: symbols, Fields: fields}, nil
}

func names(ctx context.Context, m api.Module, countName, nameName string, first uint32) ([]string, error) {
	count, err := call(ctx, m, countName)
	if err != nil {
		return nil, err
	}
	count += first
	if count > 1<<16 {
		return nil, fmt.Errorf("%w: %s is %d", ErrFault, countName, count)
	}
	all := make([]string, count)
	for i := first; i < count; i++ {
		address, err := call(ctx, m, nameName, uint64(i))
		if err != nil {
			return nil, err
		}
		if all[i], err = cString(m.Memory(), address); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// cString reads a text that a zero byte ends.
func cString(memory api.Memory, address uint32) (string, error) {
	const longest = 256
	length := min(longest, memory.Size()-min(address, memory.Size()))
	text, ok := memory.Read(address, length)
	end := bytes.IndexByte(text, 0)
	if !ok || end < 0 {
		return "", fmt.Errorf("%w: a name without an end", ErrFault)
	}
	return string(text[:end]), nil
}
