"""How operators are defined: forward and derivative, fast paths, in-place and `out=` variants, arguments and shapes.

Every family of operators imports from here; nothing here imports a family.
"""
