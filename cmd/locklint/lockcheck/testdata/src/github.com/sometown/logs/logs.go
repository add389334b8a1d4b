// Package logs is a logger of another module. Panic ends the function only for what is not nil.
package logs

import "fmt"

type Logger struct{ exit func() }

func Panic(err error) {
	if err != nil {
		panic(err)
	}
}

func (l *Logger) Fatalf(format string, args ...any) {
	fmt.Printf(format, args...)
	l.exit()
}
