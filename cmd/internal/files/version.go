package files

import "runtime/debug"

// Version is that of the module that the command was built from, (devel) for a checkout without one.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
