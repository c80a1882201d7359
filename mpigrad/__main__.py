"""`python -m mpigrad` is the `mpigrad` command."""

import sys

from mpigrad._cli.main import main

sys.exit(main())
