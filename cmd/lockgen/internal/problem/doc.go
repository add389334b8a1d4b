// Package problem holds what lockgen says about sources that it cannot generate for.
package problem
