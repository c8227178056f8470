"""What travels between a host and its clients: bytes, messages and a client without a screen."""
