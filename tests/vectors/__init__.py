"""Language-neutral cases of the rules: see README.md beside this file."""
