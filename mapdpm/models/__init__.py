"""Models of more than one flat partition."""
