"""Remote references: the class, the table that counts forks, their encoding, and adoption after a loss.

Built on `_agent`, into which it plugs itself through `_protocol/extensions.py`.
"""
