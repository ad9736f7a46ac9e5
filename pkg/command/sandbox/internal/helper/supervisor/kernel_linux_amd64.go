package supervisor

const (
	sysVMRead = 310 // process_vm_readv
	sysStatx  = 332
)
