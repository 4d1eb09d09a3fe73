"""`python run.py`: the mdactors command line."""

import sys

from actors.assembly import main

sys.exit(main())
