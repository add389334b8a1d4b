// Package render turns functions with directives into code. A [File] is planned first: every name that generated code
// introduces is chosen, so that none takes the place of one of the user's. Then the plan becomes text.
package render
