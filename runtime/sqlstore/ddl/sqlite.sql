CREATE TABLE IF NOT EXISTS {lock} (
	name blob PRIMARY KEY NOT NULL,  -- namespace, 0x00, key, shortened with a hash where that is long
	lock_key blob NOT NULL,          -- the whole key
	version integer NOT NULL,        -- grows with every change of the row
	epoch integer NOT NULL,          -- of the last grant
	turns integer NOT NULL,          -- how many grants there were
	owner text NOT NULL,             -- lease ID, * if shared, empty if free or kept by MinHold
	session text NOT NULL,
	node text NOT NULL,
	broken text NOT NULL,            -- why an operator ended the lease, empty if nobody did
	since integer NOT NULL,          -- µs by the clock of the machine, as are all times
	until integer NOT NULL,          -- the end of the lease, 0 if free
	queue text NOT NULL,             -- a line for each waiter: ID, TTL, live until, session, node, kind
	holders text NOT NULL            -- a line for each who shares it
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS {session} (
	session text PRIMARY KEY NOT NULL,
	node text NOT NULL,
	live integer NOT NULL,           -- until when the process counts as live
	told text NOT NULL               -- a line for each of its leases that was broken: lease ID, name, why
) WITHOUT ROWID;

INSERT INTO {lock} (name, lock_key, version, epoch, turns, owner, session, node, broken, since, until, queue, holders)
VALUES (CAST('schema' AS blob), x'', 0, 2, 0, '', '', '', '', 0, 0, '', '') ON CONFLICT (name) DO NOTHING;
