"""What someone who adds a likelihood, a prior, a sampler or a backend runs against it.

``laws`` holds what must be true of every family and prior, ``exact`` the transition matrix of an unchanged sampler on
all partitions, ``backends`` the agreement of backends, ``data`` generators. Needs scipy (``pip install
'mapdpm[test]'``).
"""
