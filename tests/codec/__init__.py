"""Messages of the contract as values of the rules, and back."""
