// Package browsertest drives the dashboard, and the page of examples/cluster, in a real Chromium. It is a module of its
// own so that users of package jobs do not download its dependencies.
//
//	go test ./...    # in this folder; .ci/run does it too
//
// Its tests leave pictures of every screen, in both themes, on a phone and on a wide screen, in the folder screenshots:
// for people to look at, and for CI to keep as artefacts. They are not committed. A test that fails leaves one of what
// it saw last, failed-NAME.png.
package browsertest
