"""What a person sees: the command `qe` and its screens."""
