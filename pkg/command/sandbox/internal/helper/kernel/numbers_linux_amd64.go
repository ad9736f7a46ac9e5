package kernel

// Numbers of system calls.
const (
	SysStatx   = 332
	SysSeccomp = 317
	SysVMRead  = 310 // process_vm_readv
	SysLink    = 86  // link
)
