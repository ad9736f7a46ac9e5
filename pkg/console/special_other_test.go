//go:build !linux

package console_test

import "testing"

func special(*testing.T, string) {}
