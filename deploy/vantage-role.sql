-- The role of workers on other machines: rows, no tables. Run it as the owner after each upgrade of the schema.
CREATE ROLE vantage LOGIN PASSWORD 'CHOOSE-ONE';
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO vantage;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO vantage
