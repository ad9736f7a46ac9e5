// Package index knows where in the segments the lines are that a filter may want.
//
// # Promise
//
// A current index leaves out no block that has a line which a filter takes. It may propose too many. Everything below
// cache/index may be deleted at any time, and costs time only.
//
// # Non-promise
//
// The index only proposes. Each proposed block must have the bytes that were indexed, or what is known of the segment is
// dropped and all of it is read; each line is parsed and held to the filter. So a stale, damaged or foreign index is found
// out as soon as it proposes a block that was changed, and costs time. But who can write cache/ can forge one that leaves
// records out of answers, as can who changes lines behind git's back in a block that nothing proposes, and not the last
// one. Therefore appending, verifying, scanning and following do not use it; what must be complete must ask those.
//
// # Index
//
// A segment is divided into blocks: whole lines of at most 128 KiB together, or one that is longer. So a block of an archive
// is a frame of it. Of each block are kept its place and CRC-32C, the least and greatest time of its lines, and a Bloom filter
// of 2 KiB with their ids, hashes, sessions, classes, kinds, intents, intents with kinds, paths, the directories above
// these, and last names. A block with a line that is no record is proposed to everybody, so that the line is reported.
//
// # Files
//
// It is made from the segments by the first query that gains by it, or behind the first selection, without the lock on
// .orchestration, and brought up to date by each later one. cache/index/<first 16 hex digits of the SHA-256 of the segment's name>.idx has what is known of a
// segment, and is replaced as a whole when that has grown by a sixteenth. All numbers are little-endian:
//
//	"omcpidx6"; CRC-32C of the segment's name and of what follows, 4 bytes; number of blocks, 4 bytes; 1 if it is all of an
//	archive whose name has the hash of its bytes, 4 bytes
//	for each block: end in the segment, least and greatest time in Unix milliseconds, 8 bytes each; CRC-32C, 4 bytes; 1 if it
//	is proposed to everybody, 4 bytes
//	the filters, one behind the other; of a whole archive turned: of each of their bits, a bit for each block
//
// Later queries of a process do not even look at an archive that is whole; of its filters those bits are read that a question
// which is new asks for, and what was found is remembered, and some of the blocks too. Of another file the last block must still stand there; blocks of which that is not so are made anew.
package index
