package durable

// Left reports whether a process that wrote its id and place down here is gone. Where that cannot be told, it is not.
func Left(pid int, where string) bool { return where != "" && where == Place() && Gone(pid) }
