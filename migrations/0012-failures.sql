-- What a failed attempt says beside its status or its word: the error's code and what it names, or the headers that tell who answered.
-- Kept with the attempt, so that a partner can be told the likely cause.
ALTER TABLE attempts ADD COLUMN detail text;

-- Where the failures of a webhook began, and the last of them: which attempts these are, so that a list of webhooks finds their answers by
-- one look each. A row is written with failures alone; a success leaves it as it is, and `since` says of which run it tells: that of
-- `lanes.failing_since`. `day` is that of the attempt.
CREATE TABLE webhook_failures (
  webhook_id     bigint PRIMARY KEY,
  since          timestamptz NOT NULL,
  first_delivery bigint NOT NULL,
  first_number   integer NOT NULL,
  first_day      integer NOT NULL,
  last_delivery  bigint NOT NULL,
  last_number    integer NOT NULL,
  last_day       integer NOT NULL
) WITH (fillfactor = 50);

-- Secrets that have ended too, newest first: a partner asks whether a signature was made by one of them.
CREATE INDEX client_secrets_of_client ON client_secrets (client_id, id);
