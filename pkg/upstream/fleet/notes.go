package fleet

import "sync"

const (
	// maxNotes is how many sentences about one server go into the log.
	maxNotes = 100
	// maxNamed is how many tools one of its lines names.
	maxNamed = 10
)

// notes are sentences about a server that were logged: each once. One that is wrong in a new way all the time fills neither the log
// nor memory.
type notes struct {
	mu   sync.Mutex
	said map[string]bool
}

// note logs what is wrong with the server, safe to print.
func (s *server) note(sentence string) {
	n := &s.notes
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.said[sentence] || len(n.said) > maxNotes {
		return
	}
	if n.said == nil {
		n.said = map[string]bool{}
	}
	n.said[sentence] = true
	if len(n.said) > maxNotes {
		sentence = "more is wrong with a server than is logged: orchestra-mcp servers list"
	}
	s.log.Warn().Msg(sentence)
}

// few are the first of many names.
func few(names []string) []string { return names[:min(len(names), maxNamed)] }
