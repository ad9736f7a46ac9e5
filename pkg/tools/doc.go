// Package tools has the tools that agents call, one file a tool: its
// arguments and its result as Go types, its targets, its plan and its run.
//
// Names and main parameters follow Roo Code's native tools, so that prompts written for them work. A tool decides nothing
// about permission: it says what it would touch, and package hooks asks the gate. Results carry everything in
// structuredContent as well as in their text, because several clients show the model only one of the two.
//
// Tools of other servers ([Upstreams]) are tools like these: what their arguments name is judged, and what was sent and answered
// is recorded by its digests. Their results pass as they were sent, but for what is added at their end. What such a server does
// with its arguments is its own: only one that may write the workspace is looked after, as a command is.
package tools
