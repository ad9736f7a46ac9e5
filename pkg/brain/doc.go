// Package brain is the format of the shared brain: the Markdown file in which agents leave lessons, decisions and
// constraints for each other, beside whatever people write there.
//
// # Format
//
// An entry is a section of the second level. Its fields stand below the heading, each on a line of its own and only where
// there is something to say; its text is one list item:
//
//	## Lesson Learned (2026-02-18)
//	**Intent:** INT-001
//	**File:** `src/weather.ts`
//	**Category:** testing
//	**Problems:**
//	- The clock must be injected:
//	  new Date() makes the test fail at midnight.
//
// The heading is Lesson Learned, Decision or Constraint; Problems stands only above lessons on a file. A file name with a
// backtick or a control character is written as a Go string. Sections that people or other tools wrote in this form are
// read as well, with any text below the fields; every other line is somebody's prose.
//
// # Promise
//
//   - Add appends: every byte that was there stays where it was.
//   - The text of an entry cannot leave it: whatever it holds, Parse finds one entry more after Add, with that text, and
//     Markdown renders it inside its list item. Control characters and characters that reorder text are made visible.
//   - The same text on the same file is there once.
//
// # What is not promised
//
// The package reads and writes no files. What an entry says is not checked: readers must take it as a note of somebody, not
// as an instruction. A fence or a comment that somebody's prose leaves open hides later entries from a renderer, not from
// Parse.
package brain
