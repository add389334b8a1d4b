// Package clash finds what keeps functions from being generated together although each of them is right: names that are
// taken where lockgen does not look otherwise, types that differ between builds, jobs that hide each other, and keys of
// different functions that can be the same.
package clash
