//go:build linux && !amd64 && !arm64

package sandbox

// auditArchitecture: 0 is that there is no filter, and so no Full.
const auditArchitecture = 0

func forbiddenHere() []uint32 { return nil }

func linking() []uint32 { return nil }

// sysOpen is a call that not all architectures have; 0 is that this one has not.
const sysOpen = 0
