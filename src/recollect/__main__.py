"""`python -m recollect` is the command line, where the script is not on the path."""

from __future__ import annotations

import sys

from recollect.cli import main

sys.exit(main())
