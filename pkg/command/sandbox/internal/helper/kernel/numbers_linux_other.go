//go:build linux && !amd64 && !arm64

package kernel

// There is no level full here.
const (
	SysStatx   = ^uintptr(0)
	SysSeccomp = ^uintptr(0)
	SysVMRead  = ^uintptr(0)
	SysLink    = -1
)
