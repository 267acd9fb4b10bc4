-- Of the refused calls that are kept, each caller has a share: the client that proved itself, or the address of who only claimed to be one.
ALTER TABLE refused_calls ADD COLUMN caller text NOT NULL DEFAULT '';
