//go:build !unix

package e2e_test

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
