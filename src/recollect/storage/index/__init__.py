"""A bank in memory, as search needs it: vectors, terms, filter columns. Whichever store it is read
from, a file or a server, it is the same index and gives the same answers."""
