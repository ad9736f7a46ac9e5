package helper

const (
	sysStatx   = 332
	sysSeccomp = 317
)
