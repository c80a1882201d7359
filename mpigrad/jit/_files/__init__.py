"""Scripts in files: archives, saving, loading, and verification of what was loaded.

Imports all other folders of `jit`.
"""
