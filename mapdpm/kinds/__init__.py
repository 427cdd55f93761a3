"""What the columns of a table are: found from their values, or stated; and the likelihood that follows."""
