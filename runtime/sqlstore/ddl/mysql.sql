CREATE TABLE IF NOT EXISTS {lock} (
	name varbinary(513) PRIMARY KEY, -- namespace, 0x00, key, shortened with a hash where that is long
	lock_key blob NOT NULL,          -- the whole key
	version bigint NOT NULL,         -- grows with every change of the row
	epoch bigint NOT NULL,           -- of the last grant
	turns bigint NOT NULL,           -- how many grants there were
	owner varbinary(768) NOT NULL,   -- lease ID, * if shared, empty if free or kept by MinHold
	session varbinary(64) NOT NULL,
	node varbinary(255) NOT NULL,
	broken varbinary(2048) NOT NULL, -- why an operator ended the lease, empty if nobody did
	since bigint NOT NULL,           -- µs by the clock of the server, as are all times
	until bigint NOT NULL,           -- the end of the lease, 0 if free
	queue mediumblob NOT NULL,       -- a line for each waiter: ID, TTL, live until, session, node, kind
	holders mediumblob NOT NULL      -- a line for each who shares it
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS {session} (
	session varbinary(64) PRIMARY KEY,
	node varbinary(255) NOT NULL,
	live bigint NOT NULL,            -- until when the process counts as live
	told mediumblob NOT NULL         -- a line for each of its leases that was broken: lease ID, name, why
) ENGINE=InnoDB;

INSERT INTO {lock} (name, lock_key, version, epoch, turns, owner, session, node, broken, since, until, queue, holders)
VALUES ('schema', '', 0, 2, 0, '', '', '', '', 0, 0, '', '') ON DUPLICATE KEY UPDATE name = name;
