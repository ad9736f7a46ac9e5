package languages

// fact is something that is asked of a variable at each call to which it is
// given, and takes a walk through its function to find out.
type fact struct {
	what string
	of   *object
}

// once finds out a fact, or remembers it.
func (s *side) once(what string, o *object, find func() bool) bool {
	key := fact{what, o}
	told, known := s.facts[key]
	if !known {
		if s.facts == nil {
			s.facts = map[fact]bool{}
		}
		told = find()
		s.facts[key] = told
	}
	return told
}
