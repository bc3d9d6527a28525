"""``python -m featherweight``: the command ``featherweight`` of this interpreter."""

import sys

from .cli.main import main

sys.exit(main())
