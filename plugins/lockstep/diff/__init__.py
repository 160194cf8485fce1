"""What a change of values does to groups that run: which restart, in which order, and what it takes."""
