//go:build !darwin

package sandbox

const seatbeltProgram = ""
