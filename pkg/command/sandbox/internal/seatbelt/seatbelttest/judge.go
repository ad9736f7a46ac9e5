package seatbelttest

import (
	"fmt"
	"slices"
	"strings"
)

// Allows reports whether an operation on a path is let through, as the kernel names the path.
func (p *Profile) Allows(operation, path string) bool {
	allowed := slices.ContainsFunc(always(), func(of string) bool { return covers(of, operation) })
	for _, r := range p.rules {
		for _, of := range r.operations {
			if covers(of, operation) && r.matches(Subject{path}) {
				allowed = r.allow
			}
		}
	}
	return allowed
}

// always are operations that version 1 allows where no rule names them, whatever the default is, as far as a command could do harm
// with them.
func always() []string { return []string{"file-clone", "file-link", "process-info*"} }

// Mentions reports whether a rule is of an operation, or of a wider one.
func (p *Profile) Mentions(operation string) bool {
	for _, r := range p.rules {
		for _, of := range r.operations {
			if covers(of, operation) {
				return true
			}
		}
	}
	return false
}

func covers(of, operation string) bool {
	wide, is := strings.CutSuffix(of, "*")
	return of == operation || is && strings.HasPrefix(operation, wide)
}

func (r *rule) matches(s Subject) bool {
	for _, f := range r.filters {
		if f(s) {
			return true
		}
	}
	return len(r.filters) == 0
}

// unclear finds rules of which nobody can know which one counts.
func (p *Profile) unclear() error {
	for _, denied := range p.rules {
		for _, allowed := range p.rules {
			if denied.allow || !allowed.allow {
				continue
			}
			for _, d := range denied.operations {
				for _, a := range allowed.operations {
					if d != a && (covers(d, a) || covers(a, d)) {
						return fmt.Errorf("allow %s and deny %s", a, d)
					}
				}
			}
		}
	}
	return nil
}
