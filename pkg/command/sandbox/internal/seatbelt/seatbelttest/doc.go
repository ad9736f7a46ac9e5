// Package seatbelttest reads a Seatbelt profile and answers as macOS would, as far as that is known, for tests where there is none.
// It shares nothing with what writes profiles.
//
// It is strict where nobody can know: a text that it does not understand to the last character is an error, and so is a deny that
// is not of the very operation of the allow before it, for which of a narrower and a wider rule counts is nowhere written.
package seatbelttest
