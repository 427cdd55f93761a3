"""The batch estimators: they check, call the search, and assign. No mathematics."""
