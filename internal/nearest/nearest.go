// Package nearest finds the name that somebody who wrote another one probably meant.
package nearest

import "strings"

// maxLength keeps a hostile text from buying time, in bytes.
const maxLength = 256

// Of gives the known name that is nearest to name, whatever its case, or "" if none is near: at most two characters, or a
// quarter of a long name, have to be put in, taken out or replaced. Of equals it is the first.
func Of(name string, known []string) string {
	if name == "" || len(name) > maxLength {
		return ""
	}
	best, distance := "", max(2, len(name)/4)+1
	for _, candidate := range known {
		if len(candidate) > maxLength {
			continue
		}
		// A name of two letters is not near to every other one.
		if d := distanceOf(strings.ToLower(name), strings.ToLower(candidate)); d < distance && d < len(name) {
			best, distance = candidate, d
		}
	}
	return best
}

// distanceOf is Levenshtein's, in bytes, with one row of the table.
func distanceOf(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
