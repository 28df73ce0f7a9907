"""Tables in the store: what can happen to one, and how it is kept, changed and watched."""
