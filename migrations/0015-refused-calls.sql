-- The last calls of each partner that were refused, and why. A ring: the newest hundred of a partner's own, and the newest hundred of
-- those that only claimed to be one of its clients, so that strangers cannot push out what the partner looks for.
CREATE TABLE refused_calls (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  branch_id   integer NOT NULL REFERENCES partners,
  environment text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  claimed     boolean NOT NULL,
  client_id   text,
  at          timestamptz NOT NULL,
  method      text NOT NULL,
  route       text NOT NULL,
  status      integer NOT NULL,
  code        text NOT NULL,
  description text NOT NULL,
  sent        text NOT NULL,
  request_id  text NOT NULL
);
CREATE INDEX refused_calls_of_branch ON refused_calls (branch_id, environment, claimed, id);
