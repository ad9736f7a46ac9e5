//go:build !unix

package session

const openNonblock = 0
