"""What RPC and process groups share about GPUs: how arrays travel, pinned memory, and which GPU a rank uses."""
