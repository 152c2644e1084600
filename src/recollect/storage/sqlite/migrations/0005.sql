-- A token vector is a row of four-bit codes now. Rows of bytes, as they were, cannot be told from
-- them: they go, and `recollect reembed` makes new ones.
DELETE FROM tokens;
UPDATE banks SET token_dimensions = 0;
