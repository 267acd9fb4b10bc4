-- Guesses at the second step of a sign-in. A node of the release before counts none of them.

-- Codes that were wrong since one was right. A factor that is locked takes no code until its owner comes back with a recovery code.
ALTER TABLE totp_factors ADD COLUMN wrong_in_a_row integer NOT NULL DEFAULT 0 CHECK (wrong_in_a_row >= 0);
ALTER TABLE totp_factors ADD COLUMN locked_at timestamptz;

-- How often each user failed at the second step, ever: half a sign-in remembers the number it began with. Whoever takes the step holds
-- the row meanwhile, so that guesses at one user are judged one after the other, on whichever node they arrive.
CREATE TABLE second_step_failures (
  user_id  text PRIMARY KEY REFERENCES users,
  failures bigint NOT NULL DEFAULT 0 CHECK (failures >= 0)
);
