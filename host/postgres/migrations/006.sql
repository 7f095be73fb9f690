-- Questions about tool calls, those who can answer them, and logins of browsers, for all workers.

-- Questions of running turns, which renew them. After a crash of the server the turns ask again.
CREATE UNLOGGED TABLE approval (
    id text COLLATE "C" PRIMARY KEY,
    -- JSON.
    question bytea NOT NULL,
    asked timestamptz NOT NULL DEFAULT clock_timestamp(),
    until timestamptz NOT NULL,
    decision text,
    decided_by text
);

-- Approvers, who renew their rows.
CREATE UNLOGGED TABLE approver (
    id text COLLATE "C" PRIMARY KEY,
    session_prefix bytea NOT NULL,
    until timestamptz NOT NULL
);

-- One-time codes and cookies, by their SHA-256 digests.
CREATE TABLE login (
    digest text COLLATE "C" PRIMARY KEY,
    -- JSON: the token that it stands for.
    record bytea NOT NULL,
    until timestamptz NOT NULL
);
CREATE INDEX login_until ON login (until);
