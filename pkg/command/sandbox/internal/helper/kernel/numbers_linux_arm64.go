package kernel

// Numbers of system calls.
const (
	SysStatx   = 291
	SysSeccomp = 277
	SysVMRead  = 270 // process_vm_readv
	SysLink    = -1  // there is only linkat
)
