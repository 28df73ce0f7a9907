"""What the Makefile runs to keep files in step with the code."""
