"""The built-in catalogue: every operation's schema, plan, results, reference and gradient."""
