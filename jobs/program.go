package jobs

import "runtime/debug"

// builtFrom says what program this is: the main module and its version, as far as the binary knows.
func builtFrom() (program, version string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	if version = info.Main.Version; version == "" || version == "(devel)" {
		version = ""
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				version = setting.Value[:min(len(setting.Value), 12)]
			}
		}
	}
	return firstOf(info.Main.Path, info.Path), version
}
