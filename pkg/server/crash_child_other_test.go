//go:build !unix

package server_test

func serveIfChild() {} // no test kills a server here
