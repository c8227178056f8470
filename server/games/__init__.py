"""The games, pure: no clock, no sockets, no files, and no randomness but a seed."""
