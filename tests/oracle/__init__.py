"""Naive and exact twins: slow, and obviously right."""
