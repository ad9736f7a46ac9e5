package supervisor

const (
	sysVMRead = 270 // process_vm_readv
	sysStatx  = 291
)
