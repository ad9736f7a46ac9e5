// Package treesitter parses source text into flat syntax trees, with the
// grammars of the tree-sitter project compiled to WebAssembly.
//
// It promises that a parser cannot hurt the process: a module reaches nothing but its own memory, which has a bound,
// asks every half millisecond whether to stop and does so when the context ends or the time is up, and starts from a
// fresh memory for every text, so that one fault touches one call. It promises to cost nothing before the first text of
// a language: modules are unpacked and compiled when they are needed and let go after a while without work.
//
// It does not promise a tree of valid text: the parsers repair what they cannot
// read. [Tree.Fault] says whether they did.
//
// # Why the compiled code is not kept on disk
//
// wazero can keep what it compiled in a directory, which must then be guarded, for what is read from it is run without
// a look. The user's cache directory can be written by every program that the user runs, the commands of the agent
// among them: they could put code into the server that judges them. So a process compiles each language once, in some
// 50 ms of a processor's time: build/tables.cc has what makes it so little.
//
// # Modules
//
// modules/NAME.wasm.zst are built by build/build.sh (make grammars) and
// compared with modules/SHA256SUMS by a test. build/export.c is the interface:
//
//	text_buffer(length) → address   room for the text; 0 if there is none
//	parse(length) → nodes           0 if the text could not be parsed
//	node_buffer() → address         the nodes, in order of reading
//	symbol_count, symbol_name, field_count, field_name: the grammar's names
//
// They import one function, host.stop, which says whether to stop.
//
// A node is five little-endian words of 32 bits: symbol in the low half and field in the high half; flags (1 named, 2
// extra, 4 error, 8 missing); first byte; byte after the last; index of the first node after its descendants.
package treesitter
