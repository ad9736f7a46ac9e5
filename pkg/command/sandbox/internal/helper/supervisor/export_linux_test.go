package supervisor

// What reads tables of /proc.
var (
	GroupOf  = groupOf
	DeviceOf = deviceOf
)
