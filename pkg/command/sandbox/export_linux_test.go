package sandbox

// StartLandlockAs is Start at Landlock with no more than what a version of the kernel's interface has.
var StartLandlockAs = startLandlock

// StartFullWith is Start at Full, with a supervisor of sockets or without.
var StartFullWith = startFull
