// Package scaffold turns a directory into a governed workspace: it looks at what is there, proposes a first intent,
// and writes the files under .orchestration.
//
// Promised:
//   - A file that exists is never overwritten; the report says which were kept. Lines are only ever appended, and only
//     to .gitattributes.
//   - Nothing is written outside the workspace: a link that leads out of it is an error, not a way.
//   - Detection reads names, and of files only the manifests of toolchains, up to fixed bounds: it takes the same short
//     time in a huge tree.
//
// Not promised: that the proposal is right. It is a start for a person to edit, and says so in the file.
package scaffold
