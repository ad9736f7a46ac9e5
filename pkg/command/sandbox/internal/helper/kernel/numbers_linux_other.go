//go:build linux && !amd64 && !arm64

package helper

// There is no level full here, and no helper.
const (
	sysStatx   = ^uintptr(0)
	sysSeccomp = ^uintptr(0)
)
