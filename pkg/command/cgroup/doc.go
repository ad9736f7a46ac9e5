// Package cgroup bounds how many processes a command can have, by the kernel's pids controller.
//
// # Promise
//
//   - [Find] looks for a place where this process may make control groups: of version 2 in a directory that was given over
//     to this user (a sibling of the own group), of version 1 below the own group of the pids hierarchy. It tries what it
//     found, and changes nothing for the process itself.
//   - What is started in a [Group] is in it from its first instruction, and all that descends from it, whatever it does to
//     its session, its parent or its environment.
//   - Groups carry the identity of their maker in their name, so that [Parent.Abandoned] finds those of one that died.
//
// # Non-promise
//
// A process that may write the hierarchy itself (root without a sandbox) can leave its group. Memory and CPU are not
// bounded. On other systems than Linux there is no place.
package cgroup
