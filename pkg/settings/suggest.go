package settings

import "strings"

// maxSuggested keeps a hostile file from buying time with its keys.
const maxSuggested = 64

// didYouMean is the end of a message about an unknown name.
func didYouMean(name string, known []string) string {
	if len(name) > maxSuggested {
		return ""
	}
	best, distance := "", max(2, len(name)/4)+1
	for _, candidate := range known {
		if d := editDistance(strings.ToLower(name), strings.ToLower(candidate)); d < distance {
			best, distance = candidate, d
		}
	}
	if best == "" {
		best = sameLastPart(name, known)
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// sameLastPart finds a key that was written without, or in another, group.
func sameLastPart(name string, known []string) (found string) {
	last := name[strings.LastIndex(name, ".")+1:]
	for _, candidate := range known {
		if candidate[strings.LastIndex(candidate, ".")+1:] != last {
			continue
		}
		if found != "" {
			return "" // more than one
		}
		found = candidate
	}
	return found
}

// editDistance is Levenshtein's, with one row of the table.
func editDistance(a, b string) int {
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
