module github.com/lockgen/lockgen/runtime/zkstore

go 1.26.0

replace github.com/lockgen/lockgen => ../..

require (
	github.com/go-zookeeper/zk v1.0.4
	github.com/lockgen/lockgen v0.0.0-00010101000000-000000000000
	go.uber.org/goleak v1.3.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/robfig/cron/v3 v3.0.1 // indirect
	go.opentelemetry.io/otel v1.47.0 // indirect
	go.opentelemetry.io/otel/metric v1.47.0 // indirect
	go.opentelemetry.io/otel/trace v1.47.0 // indirect
)
