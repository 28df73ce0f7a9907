"""Training of the planner: `make train` makes its weights anew from matches that it plays against itself."""
