// Package buildinfo tells which build of this program is running, from what the Go toolchain put into the binary. A
// build without that (go run of files, a stripped binary) is "devel" with an empty commit; nothing is made up.
package buildinfo

import "runtime/debug"

// Info identifies a build.
type Info struct {
	// Version is the module's version, such as v0.1.0, or "devel".
	Version string `json:"version"`
	// Commit is the full revision that was built, or "".
	Commit string `json:"commit,omitempty"`
	// Time is the commit's time in RFC 3339, or "".
	Time string `json:"commit_time,omitempty"`
	// Modified tells that the work tree had changes that are not in the commit.
	Modified bool `json:"modified,omitempty"`
	// Go is the toolchain's version.
	Go string `json:"go,omitempty"`
}

// Read returns the running binary's build.
func Read() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return Info{Version: "devel"}
	}
	return from(build)
}

func from(build *debug.BuildInfo) Info {
	info := Info{Version: build.Main.Version, Go: build.GoVersion}
	if info.Version == "" || info.Version == "(devel)" {
		info.Version = "devel"
	}
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.Commit = setting.Value
		case "vcs.time":
			info.Time = setting.Value
		case "vcs.modified":
			info.Modified = setting.Value == "true"
		}
	}
	return info
}
