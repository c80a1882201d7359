"""Remote references: adoption after the loss of a worker, and RRefs in files. `RRef` and its table are in `_core/rpc`.

Built on `_agent`; takes part in messages through `_protocol/extensions.py`. Terms (fork, parent, orphan, ...) are
explained in docs/glossary.md.
"""
