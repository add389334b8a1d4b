// Package bound holds functions with a directive as the steps of lockgen hand them on: package load makes them, package
// clash compares them, package render writes their wrappers.
package bound
