//go:build !linux && !darwin

package probes

import "errors"

// No sandbox is tried on these systems.

func exchange(string, string) error { return errors.ErrUnsupported }

func kill(int) error { return errors.ErrUnsupported }

func environment(int) ([]byte, error) { return nil, errors.ErrUnsupported }

func otherRoots() []string { return nil }

func byNumber(string) string { return "" }

func clones() []Probe { return nil }

func daemons() []Probe { return nil }
