"""Which rule files a coding agent loads, in its order and by its own precedence."""
