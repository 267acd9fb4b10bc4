-- Operators look for partners and users by the words of their names: `ada lo` finds Ada Lovelace.
CREATE FUNCTION name_words(name text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN to_tsvector('simple'::regconfig, regexp_replace(name, '[[:punct:]]+', ' ', 'g'));

CREATE INDEX partners_by_status ON partners (status, branch_id);
CREATE INDEX partners_by_name ON partners USING gin (name_words(name));
CREATE INDEX users_by_name ON users USING gin (name_words(name));
-- For pages and for beginnings of usernames, in an order that is the same in every installation.
CREATE INDEX users_in_order ON users (username COLLATE "C");
CREATE INDEX active_operators ON users (id) WHERE role = 'operator' AND status = 'active';

-- What one user, an operator, did to the account of another: the holder reads it beside what the gateway did.
CREATE INDEX audit_entries_about_holder_by_user ON audit_entries ((coalesce('user:' || (details ->> 'userId'), subject)), id)
  WHERE actor LIKE 'user:%' AND actor <> coalesce('user:' || (details ->> 'userId'), subject)
    AND action NOT LIKE 'partner.%' AND coalesce('user:' || (details ->> 'userId'), subject) LIKE 'user:%';
