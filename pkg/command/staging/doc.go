// Package staging keeps the layers that take what commands do: of a git line while it is rehearsed, of a command until what it
// did is taken over or thrown away.
//
// # Layout
//
// .orchestration/state/layers/ID is a directory of layers (sandbox.Layer, numbered: 0/upper, 0/work), with ID.lock beside it,
// which whoever uses them holds (flock). Commands at the level full, which are the only ones with layers, can neither list nor
// read any of it. [Layers.Keep] writes ID.json beside them: what its maker has to say of them.
//
// # Promise
//
// Layers are held by one at a time. What nobody holds and has no ID.json was left by a kill, and goes with the next; it changed
// nothing in the workspace. What is kept goes after [KeptFor], or earlier, the oldest first, where more than [MaxKept] or
// [MaxKeptBytes] would be kept.
package staging
