"""The moves of many points: one a file, and the catalogue that names them."""
