-- Who of the brokerage's people may do what. `users.role = 'operator'` says that somebody is staff; what they may do follows from the roles here (src/permission.ts).

-- Where a role comes from: given by hand, or by an identity provider at the last sign-in. A provider takes back what it gave, and nothing else.
CREATE TABLE staff_roles (
  user_id  text NOT NULL,
  role     text NOT NULL CHECK (role IN ('viewer', 'support', 'partner-manager', 'webhook-operator', 'security-officer', 'auditor', 'administrator')),
  source   text NOT NULL CHECK (source = 'hand' OR source ~ '^provider:[^ ]{1,100}$'),
  given_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, role, source)
);

-- Whoever runs the gateway now may do everything, as before. First of all, before anything that others use is locked: it reads all users, and holds up nobody meanwhile.
INSERT INTO staff_roles (user_id, role, source, given_at) SELECT id, 'administrator', 'hand', updated_at FROM users WHERE role = 'operator';
ALTER TABLE staff_roles ADD CONSTRAINT staff_roles_user_id_fkey FOREIGN KEY (user_id) REFERENCES users NOT VALID;
ALTER TABLE staff_roles VALIDATE CONSTRAINT staff_roles_user_id_fkey;

-- What somebody may do changes with the next request, on every node.
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON staff_roles FOR EACH ROW EXECUTE FUNCTION announce_change('user', 'user_id');
