module github.com/lockgen/lockgen/cmd/lockgen/bench

go 1.26.0

replace github.com/lockgen/lockgen => ../../..

tool (
	github.com/lockgen/lockgen/cmd/lockgen
	github.com/matryer/moq
	go.uber.org/mock/mockgen
)

require github.com/lockgen/lockgen v0.0.0-00010101000000-000000000000

require (
	github.com/dave/jennifer v1.7.1 // indirect
	github.com/matryer/moq v0.6.0 // indirect
	github.com/robfig/cron/v3 v3.0.1 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	go.uber.org/mock v0.6.0 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
)
