// Package browsertest drives the dashboard in a real Chromium. It is a module of its own so that those who use package
// jobs need not load what that takes. Its tests leave pictures of every screen in the folder screenshots.
package browsertest
