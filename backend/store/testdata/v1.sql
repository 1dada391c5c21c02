-- A history as the first release wrote it (schema version 1). Never changed: every later version must open it.
CREATE TABLE machines (
  id             TEXT PRIMARY KEY,
  name           TEXT NOT NULL,
  title          TEXT NOT NULL,
  tags           TEXT NOT NULL, -- JSON object
  engine         TEXT NOT NULL,
  image          TEXT NOT NULL,
  memory_mb      INTEGER NOT NULL,
  notice         TEXT NOT NULL,
  created_at     INTEGER NOT NULL, -- this and every time: Unix nanoseconds
  last_active_at INTEGER NOT NULL,
  expires_at     INTEGER,
  deleted_at     INTEGER,
  parent         TEXT, -- JSON object
  live           INTEGER NOT NULL,
  touched        INTEGER NOT NULL,
  base           TEXT NOT NULL,
  fallback       TEXT NOT NULL,
  next_notice    TEXT NOT NULL
);

-- Present and old names; a name belongs to one machine.
CREATE TABLE names (
  name    TEXT PRIMARY KEY,
  machine TEXT NOT NULL REFERENCES machines (id) ON DELETE CASCADE,
  old     INTEGER NOT NULL -- 0 for the present name, else counting up in order of age
) WITHOUT ROWID;
CREATE INDEX names_machine ON names (machine);

CREATE TABLE instructions (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  machine        TEXT NOT NULL REFERENCES machines (id) ON DELETE CASCADE,
  seq            INTEGER NOT NULL,
  code           TEXT NOT NULL,
  client_name    TEXT NOT NULL,
  client_version TEXT NOT NULL,
  timeout        INTEGER NOT NULL, -- nanoseconds
  formats        TEXT NOT NULL,    -- separated by commas
  status         TEXT NOT NULL,
  queued_at      INTEGER NOT NULL,
  started_at     INTEGER,
  ended_at       INTEGER,
  resumed_at     INTEGER,
  runtime        INTEGER NOT NULL, -- nanoseconds
  ran            INTEGER NOT NULL, -- nanoseconds
  error_name     TEXT NOT NULL,
  value          TEXT,
  error          TEXT NOT NULL,
  error_ansi     TEXT NOT NULL,
  forms          TEXT NOT NULL, -- JSON array of [MIME, length], of what data holds one after another
  data           BLOB,
  rolled_back    INTEGER NOT NULL,
  notice         TEXT NOT NULL,
  items          INTEGER NOT NULL,
  output_bytes   INTEGER NOT NULL,
  output_dropped INTEGER NOT NULL,
  last_frame     INTEGER NOT NULL,
  head_end       INTEGER NOT NULL,
  overflow       INTEGER NOT NULL,
  carry_out      BLOB,
  carry_err      BLOB,
  UNIQUE (machine, seq)
);
CREATE INDEX instructions_unfinished ON instructions (machine, seq) WHERE status IN ('queued', 'running');
CREATE INDEX instructions_overflow ON instructions (machine, seq, overflow) WHERE overflow > 0;
CREATE INDEX instructions_rolled_back ON instructions (machine, seq) WHERE rolled_back <> 0;

CREATE TABLE items (
  instruction INTEGER NOT NULL REFERENCES instructions (id) ON DELETE CASCADE,
  idx         INTEGER NOT NULL,
  frame       INTEGER NOT NULL,
  kind        TEXT NOT NULL,
  at          INTEGER NOT NULL,
  stream      TEXT NOT NULL,
  flags       INTEGER NOT NULL, -- 1 background, 2 update, 4 wait
  display_id  TEXT NOT NULL,
  forms       TEXT NOT NULL, -- JSON array of [MIME, length]; empty for output, whose text data is
  data        BLOB NOT NULL,
  UNIQUE (instruction, idx)
);

CREATE TABLE checkpoints (
  id          TEXT PRIMARY KEY,
  machine     TEXT NOT NULL REFERENCES machines (id) ON DELETE CASCADE,
  kind        TEXT NOT NULL,
  label       TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  last_seq    INTEGER NOT NULL,
  running_seq INTEGER,
  size        INTEGER NOT NULL,
  image       TEXT NOT NULL,
  runtime     TEXT NOT NULL,
  clone       INTEGER NOT NULL,
  mark        TEXT, -- JSON object
  lost        TEXT NOT NULL -- JSON array
);
CREATE INDEX checkpoints_machine ON checkpoints (machine, created_at);

-- What engines have still to delete.
CREATE TABLE garbage (
  engine     TEXT NOT NULL,
  machine    TEXT NOT NULL,
  checkpoint TEXT NOT NULL,
  PRIMARY KEY (engine, machine, checkpoint)
) WITHOUT ROWID;

-- Rows have the number of their instruction.
CREATE VIRTUAL TABLE search USING fts5 (code, output, result, tokenize = 'unicode61 remove_diacritics 2');
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);

INSERT INTO machines VALUES ('0123456789abcdef', 'brave-otter-42', 'Sales', '{"project":"q3"}', 'native', 'base', 2048, '',
  1760000000000000000, 1760000000000000000, NULL, NULL, '{"ID":"fedcba9876543210","Name":"calm-wolf-7","LastSeq":3}', 0, 0, 'c2', 'c1', 'told next');
INSERT INTO names VALUES ('brave-otter-42', '0123456789abcdef', 0), ('old-name', '0123456789abcdef', 1);
INSERT INTO instructions VALUES (1, '0123456789abcdef', 0, 'print(6 * 7)', 'window', '1.0', 15000000000, 'svg', 'ok',
  1760000001000000000, 1760000001000000000, 1760000002000000000, NULL, 1000000, 0, '', 'None', '', '', '[["text/html",3]]', x'3c623e', 0, '',
  1, 3, 0, 2, 1, 0, NULL, NULL);
INSERT INTO instructions VALUES (2, '0123456789abcdef', 1, 'while True: pass', 'window', '1.0', 0, '', 'queued',
  1760000003000000000, NULL, NULL, NULL, 0, 0, '', NULL, '', '', '', NULL, 0, '', 0, 0, 0, -1, 0, 0, NULL, NULL);
INSERT INTO items VALUES (1, 0, 1, 'output', 1760000001500000000, 'stdout', 0, '', '', x'34320a');
INSERT INTO checkpoints VALUES ('c1', '0123456789abcdef', 'manual', 'before cleaning', 1760000001000000000, -1, NULL, 1000, 'sha256:i', 'sha256:r', 0, NULL, 'null');
INSERT INTO checkpoints VALUES ('c2', '0123456789abcdef', 'auto', '', 1760000002000000000, 0, NULL, 2000, 'sha256:i', 'sha256:r', 1,
  '{"Seq":0,"Progress":{"LastFrame":1,"HeadEnd":1,"Overflow":0,"CarryOut":null,"CarryErr":null},"Items":1,"OutputBytes":3,"OutputDropped":0}', '[{"From":0,"To":0}]');
INSERT INTO garbage VALUES ('native', '0123456789abcdef', 'c0');
INSERT INTO search (rowid, code, output, result) VALUES (1, 'print(6 * 7)', '42', 'None');
PRAGMA user_version = 1;
