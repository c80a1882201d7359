"""Arrays of which only some elements are held, as indices and values: the sparse counterpart of an array module's arrays."""
