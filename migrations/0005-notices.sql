-- What people are told by e-mail. A notice is written in the transaction of what it tells of; a worker sends it afterwards.

-- `email` is the address at that moment: who changes it afterwards does not divert what was written before. `key` names what is told:
-- the same is told once. While a worker has it in hand, `due_at` is when its lease ends.
CREATE TABLE notices (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id    text NOT NULL REFERENCES users,
  email      text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
  kind       text NOT NULL CHECK (kind IN (
    'sign-in', 'application', 'address', 'password', 'second-factor', 'recovery-codes', 'api-token',
    'webhook-failing', 'webhook-disabled', 'secret-expiring')),
  key        text NOT NULL UNIQUE CHECK (length(key) <= 200),
  facts      jsonb NOT NULL,
  state      text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'given up')),
  attempts   integer NOT NULL DEFAULT 0,
  due_at     timestamptz NOT NULL,
  claim_id   uuid,
  error      text CHECK (length(error) <= 300),
  created_at timestamptz NOT NULL,
  settled_at timestamptz,
  CHECK ((state = 'waiting') = (settled_at IS NULL)),
  CHECK (state = 'waiting' OR claim_id IS NULL)
);
CREATE INDEX notices_due ON notices (due_at, id) WHERE state = 'waiting';
CREATE INDEX notices_of_user ON notices (user_id, kind, created_at);
CREATE INDEX notices_by_age ON notices (settled_at) WHERE state <> 'waiting';
