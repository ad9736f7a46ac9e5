// Package edit turns the edits that agents write into new file content.
//
// It promises:
//
//   - Pure functions over decoded text. Nothing is read, written or logged, and
//     no call depends on an earlier one.
//   - All or nothing. [ApplyDiff], [Replace] and [Section.Apply] return either
//     the whole result or an error that lists every block that failed; they
//     never return a partly edited text.
//   - No guess. Where two places fit the answer is [ErrAmbiguous] with their line
//     numbers; where the indentation of a new line is not certain it is
//     [ErrIndentation].
//   - Literal reading first. Repairs (line numbers, HTML entities, code fences,
//     CRLF transport) are tried only when the text as written does not match,
//     and every repair or loose match is told in [Result.Notes].
//   - What the author of the file chose stays: line endings line by line, the
//     final newline, indentation, and the exact text of lines that a block only
//     quotes as context.
//   - Bounded work, whatever the diff says: matching is linear in the file per
//     block, and similarity scoring stops at a fixed budget.
//
// It does not decode bytes, know paths or check permissions. A path in a patch is the text that the agent wrote.
//
// Lines are counted the same way everywhere: a line ends at LF or CRLF, a lone
// CR is part of its line, and a final newline does not begin another line.
//
// The formats, the order of matching and the differences from the tools that
// they come from are described in README.md beside this file.
package edit
