"""PyTorch's package of this name; `remote_module` in it has `RemoteModule`, which is also
`mpigrad.distributed.nn.RemoteModule`.
"""
