-- How many tools a program has called. Of those of before, each instruction that is on record was one call.
ALTER TABLE clients ADD COLUMN calls INTEGER NOT NULL DEFAULT 0;
UPDATE clients SET calls = (SELECT count(*) FROM instructions WHERE client_name = clients.name);
