package helper

const (
	sysStatx   = 291
	sysSeccomp = 277
)
