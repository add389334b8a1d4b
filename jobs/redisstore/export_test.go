package redisstore

// KeyOf returns a key of the shard that a job is in.
func KeyOf(s *Store, job string) string { return s.shards[shardOf(job)].cursors }
