// Package tools has the tools that agents call, one file a tool: its
// arguments and its result as Go types, its targets, its plan and its run.
//
// Names and main parameters follow Roo Code's native tools, so that prompts written for them work. A tool decides nothing
// about permission: it says what it would touch, and package hooks asks the gate. Results carry everything in
// structuredContent as well as in their text, because several clients show the model only one of the two.
package tools
