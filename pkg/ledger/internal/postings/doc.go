// Package postings is an immutable index of a run of lines: where each begins, some bits about it, and which of them
// have a key. It knows nothing of what lines or keys mean.
//
// # Promise
//
// A [Run] that opens gives for every key exactly the rows that were added under it or under another key with the same
// 40 bits. Whatever a file holds, opening and reading it ends without a panic, in memory bounded by the file's size;
// each part is checked against a checksum when it is read, and a part that does not agree is [ErrDamaged].
//
// # Non-promise
//
// The checksums find accidents. Who can write the file can write one that leaves rows out: nothing that must be
// complete may rest on it.
//
// # File
//
// All numbers are little-endian.
//
//	header     192 bytes: magic "omcpidx4"; 32 bytes of the caller's about the segment; from, to, last: where the run
//	           begins and ends in the segment and its last line begins, 8 bytes each; the SHA-256 of that line; least
//	           and greatest time, 8 bytes each; numbers of rows, keys and buckets, 4 bytes each; length of the key
//	           part, 8 bytes; CRC-32C of the directory; 1 if the segment ends with the run, 4 bytes; zeros; in the last 4 bytes the CRC-32C of the header
//	directory  for each page of 256 rows its CRC-32C; for each bucket its end in the key part and its CRC-32C; 4 bytes
//	           each
//	rows       16 bytes each: offset from the run's begin (4), marks (4), time (8)
//	keys       the buckets
//
// An entry is a key's 40 bits above the 24 bits of a row's number. Entries are sorted and divided into a power of two
// of buckets by their first bits; a bucket is the differences of its entries, beginning with its lowest possible one,
// as unsigned varints.
package postings
