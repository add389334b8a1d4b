-- The tables of locks, version 2. Generated, DO NOT EDIT: a later version gets a file of its own.
-- +goose Up
-- +migrate Up
-- migrate:up

CREATE TABLE IF NOT EXISTS "lockgen_lock" (
	name bytea PRIMARY KEY,          -- namespace, 0x00, key, shortened with a hash where that is long
	lock_key bytea NOT NULL,         -- the whole key
	version bigint NOT NULL,         -- grows with every change of the row
	epoch bigint NOT NULL,           -- of the last grant
	turns bigint NOT NULL,           -- how many grants there were
	owner text COLLATE "C" NOT NULL, -- lease ID, * if shared, empty if free or kept by MinHold
	session text COLLATE "C" NOT NULL,
	node text NOT NULL,
	broken text NOT NULL,            -- why an operator ended the lease, empty if nobody did
	since bigint NOT NULL,           -- µs by the clock of the server, as are all times
	until bigint NOT NULL,           -- the end of the lease, 0 if free
	queue text COLLATE "C" NOT NULL, -- a line for each waiter: ID, TTL, live until, session, node, kind
	holders text COLLATE "C" NOT NULL  -- a line for each who shares it
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200,
	toast.autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_threshold = 200);

CREATE TABLE IF NOT EXISTS "lockgen_session" (
	session text COLLATE "C" PRIMARY KEY,
	node text NOT NULL,
	live bigint NOT NULL,            -- until when the process counts as live
	told text NOT NULL               -- a line for each of its leases that was broken: lease ID, name, why
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);

INSERT INTO "lockgen_lock" (name, lock_key, version, epoch, turns, owner, session, node, broken, since, until, queue, holders)
VALUES ('schema', '', 0, 2, 0, '', '', '', '', 0, 0, '', '') ON CONFLICT (name) DO NOTHING;
