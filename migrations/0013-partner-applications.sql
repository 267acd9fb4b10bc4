-- What somebody said of themselves when they applied as a partner, for whoever decides.
CREATE TABLE partner_applications (
  branch_id    integer PRIMARY KEY REFERENCES partners,
  applicant_id text NOT NULL REFERENCES users,
  website      text NOT NULL CHECK (length(website) <= 300),
  contact      text NOT NULL CHECK (length(contact) <= 320),
  purpose      text NOT NULL CHECK (length(purpose) <= 2000),
  created_at   timestamptz NOT NULL
);
CREATE INDEX applications_of_user ON partner_applications (applicant_id);

-- Forms that make something new carry a number of their own: sent twice, they count once, on whichever node they arrive.
CREATE TABLE submissions (
  id         text PRIMARY KEY CHECK (length(id) <= 43),
  created_at timestamptz NOT NULL
);
CREATE INDEX submissions_by_age ON submissions (created_at);
