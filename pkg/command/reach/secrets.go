package reach

import "path"

// secrets finds what nobody may read, anywhere in the workspace. A directory
// stands for what is in it.
func (s *survey) secrets() []string {
	s.seen = 0
	var found []string
	todo := []string{"."}
	for len(todo) > 0 {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		listed, _ := s.list(dir)
		for _, e := range listed.entries {
			p := path.Join(dir, e.name)
			switch isDir := e.kind.IsDir(); {
			case isDir && s.rules.Secret(p+"/"), !isDir && s.rules.Secret(p):
				if !isLink(e) {
					found = append(found, p)
				}
			case isDir && p != ".git":
				todo = append(todo, p)
			}
		}
	}
	return found
}
