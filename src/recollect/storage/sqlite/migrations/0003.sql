-- How far a bank that is being imported or copied has come. Nobody sees it before it is whole.
ALTER TABLE banks ADD COLUMN arriving TEXT;
