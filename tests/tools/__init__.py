"""Programs that write generated files: `make generate` runs them."""
