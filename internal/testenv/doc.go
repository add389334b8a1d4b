// Package testenv starts the servers that tests need: real ones, as child
// processes, on free loopback ports, each with its data in a directory of its own.
//
// Nothing is shared and nothing is left behind. A server is stopped through the
// handle of the process that was started, never by name, so a server that
// happens to run on the same machine is not touched. On Linux a server also dies
// with the process that started it, however that one ends: a test binary killed
// by its timeout leaves no server.
//
// # Missing servers
//
// A test whose server is not installed skips and says why. Where the environment
// variable LOCKGEN_REQUIRE lists the server (names separated by commas, such as
// "redis"), the same test fails instead: continuous integration sets it, so that
// a green run there means the tests have run.
//
// LOCKGEN_REDIS_SERVER names another program to start in place of redis-server,
// for example valkey-server. LOCKGEN_CHROMIUM does so for the browser that [Chromium] finds.
package testenv
