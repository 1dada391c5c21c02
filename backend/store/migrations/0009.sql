-- The program that sent a machine's last instruction, or made it.
ALTER TABLE machines ADD COLUMN client_name TEXT NOT NULL DEFAULT '';
ALTER TABLE machines ADD COLUMN client_version TEXT NOT NULL DEFAULT '';
UPDATE machines SET client_name = i.client_name, client_version = i.client_version
  FROM (SELECT machine, client_name, client_version, max(seq) FROM instructions GROUP BY machine) AS i WHERE i.machine = machines.id;
