"""`python -m mpigrad` is the `mpigrad` command."""

import sys

from mpigrad._cli.main import main

if __name__ == "__main__":
    sys.exit(main())
