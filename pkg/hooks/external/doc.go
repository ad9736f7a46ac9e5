// Package external runs the operator's own programs as hooks, in the JSON shape of Claude Code's PreToolUse and
// PostToolUse hooks (https://code.claude.com/docs/en/hooks), so that scripts written for these serve unchanged.
//
// # Promise
//
//   - A pre-hook's program sees every file of a call, one event each, in the names of that contract: Write, Edit, Bash,
//     Read, and mcp__orchestra__TOOL for everything else: of a tool of another server with the arguments that go there as its
//     tool_input. What it sees is the plan that will execute.
//   - Exit 0 allows unless the JSON on standard output says otherwise, exit 2 denies with standard error as the reason.
//     Any other end, a time-out, and output that begins with { and is not an answer refuse with HOOK_BLOCKED. So does an
//     answer that would change the call: what was judged is what runs.
//   - "allow" lifts nothing: it only keeps this hook from stopping the call.
//   - A post-hook changes nothing about the outcome. What it says, and its failure, is a warning in the result.
//   - No process of a program outlives its turn, and memory is bounded whatever it prints.
//
// # Event
//
//	{"session_id":"<public id>","transcript_path":"","cwd":"/abs","permission_mode":"default",
//	 "hook_event_name":"PreToolUse","tool_name":"Write","tool_use_id":"<call>",
//	 "tool_input":{"file_path":"/abs/src/a.go","content":"…"},
//	 "tool_response":{"filePath":"/abs/src/a.go","success":true},
//	 "orchestra":{"tool":"apply_patch","intent_id":"INT-001","path":"src/a.go","kind":"modify",…}}
//
// tool_response is only in PostToolUse. A file that is removed is an Edit to nothing, a file that is moved is an Edit to
// nothing and a Write. A change of parts is an Edit of the smallest stretch of lines that stands there once, so that
// replacing old_string by new_string gives what will be written.
//
// # What is not promised
//
// The programs are the operator's: they run outside every sandbox with the operator's rights. What they change in the
// workspace is no call and has no record; the result warns of it. Tools that give no content (listing, searching) have an
// empty tool_input. Background hooks ("async"), prompts and agents as hooks are not offered.
package external
