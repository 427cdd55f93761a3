"""Clusters that belong together: a tree of mergers, by the log joint or by overlap."""
