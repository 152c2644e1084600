from __future__ import annotations

import sys

from recollect.cli import main

sys.exit(main())
