-- The receiver that the sandbox has built in (src/webhooks/subscriptions/built-in-receiver.ts): one webhook of a branch whose deliveries are handed over inside the gateway,
-- and the last few of them.
CREATE TABLE built_in_receivers (
  branch_id   integer PRIMARY KEY REFERENCES partners,
  -- The end of its webhook's URL. A webhook whose URL ends differently is not its own any more.
  token       text NOT NULL UNIQUE CHECK (token ~ '^[A-Za-z0-9]{43}$'),
  webhook_id  bigint NOT NULL UNIQUE REFERENCES webhooks,
  created_at  timestamptz NOT NULL,
  -- When a signature was first found right. It stays when the webhook is deleted and made anew.
  verified_at timestamptz
);

-- Bounded by what is kept of a branch, by size and by age.
CREATE TABLE built_in_receipts (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  branch_id   integer NOT NULL REFERENCES built_in_receivers,
  event_uid   text NOT NULL CHECK (length(event_uid) <= 100),
  verified    boolean NOT NULL,
  -- A line each, without the values of headers that the partner chose.
  head        text NOT NULL CHECK (length(head) <= 8000),
  body        text NOT NULL CHECK (length(body) <= 16000),
  received_at timestamptz NOT NULL
);
CREATE INDEX built_in_receipts_of_branch ON built_in_receipts (branch_id, id);
CREATE INDEX built_in_receipts_by_age ON built_in_receipts (received_at);
