-- Rows that change often are cleaned up often, whatever the size of their table: by default a table of ten million rows keeps two million
-- dead ones, and every look at it passes them by. What holds little and changes all the time is cleaned after a thousand.
ALTER TABLE deliveries SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
ALTER TABLE grants SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
ALTER TABLE lanes SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE event_inbox SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE branch_sequences SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE audit_unsealed SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
