package intent

import "strings"

// Status is the state of an intent, whatever word the file has for it.
type Status string

// The statuses, in the first of the two vocabularies.
const (
	Todo       Status = "TODO"        // or PENDING
	InProgress Status = "IN_PROGRESS" //
	Blocked    Status = "BLOCKED"     //
	Done       Status = "DONE"        // or COMPLETED
)

// ParseStatus reads a status in either vocabulary, in any letter case and with `-` for `_`.
func ParseStatus(word string) (Status, bool) {
	switch strings.ReplaceAll(strings.ToUpper(word), "-", "_") {
	case "TODO", "PENDING":
		return Todo, true
	case "IN_PROGRESS":
		return InProgress, true
	case "BLOCKED":
		return Blocked, true
	case "DONE", "COMPLETED":
		return Done, true
	}
	return "", false
}

// Selectable reports whether an intent of this status can be selected.
func (s Status) Selectable() bool { return s == Todo || s == InProgress }

// vocabulary is a file's own way to write statuses.
type vocabulary struct {
	pending bool // PENDING and COMPLETED rather than TODO and DONE
	lower   bool
	dash    bool
}

// vocabularyOf learns from the words that the file uses, in order; the first that tells decides.
func vocabularyOf(words []string) vocabulary {
	var v vocabulary
	var knowsWords, knowsDash bool
	for i, word := range words {
		upper := strings.ToUpper(word)
		if i == 0 {
			v.lower = word != upper
		}
		if !knowsWords && (upper == "PENDING" || upper == "COMPLETED" || upper == "TODO" || upper == "DONE") {
			v.pending, knowsWords = upper == "PENDING" || upper == "COMPLETED", true
		}
		if !knowsDash && strings.ContainsAny(word, "-_") {
			v.dash, knowsDash = strings.Contains(word, "-"), true
		}
	}
	return v
}

// word writes a status in the vocabulary.
func (v vocabulary) word(s Status) string {
	word := string(s)
	switch {
	case v.pending && s == Todo:
		word = "PENDING"
	case v.pending && s == Done:
		word = "COMPLETED"
	case v.dash:
		word = strings.ReplaceAll(word, "_", "-")
	}
	if v.lower {
		word = strings.ToLower(word)
	}
	return word
}
