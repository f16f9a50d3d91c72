"""What the servers of this machine that Touchstone starts have in common: a guard, and a login."""
