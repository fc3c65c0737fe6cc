"""Check what pyright sees of the public names: how many there are, and that every type is known.

python tests/public_names.py    # in an environment with pyright and antiloop
"""

import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
MOST = 376
"""A ratchet: it may only fall."""
ADAPTERS = "antiloop.integrations."


def main() -> int:
    """Print what is wrong; return 1 if anything is."""
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    command += ["--verifytypes", "antiloop", "--ignoreexternal", "--outputjson"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    said = subprocess.run(command, env=environment, capture_output=True, text=True).stdout
    found = json.loads(said)["typeCompleteness"]
    public = [each for each in found["symbols"] if each["isExported"]]
    # A class of a framework that is not installed is unknown, and so is what derives from it.
    unknown = [
        each["name"]
        for each in public
        if not each["isTypeKnown"] and not each["name"].startswith(ADAPTERS)
    ]
    print(f"{len(public)} public names, at most {MOST}; of unknown type: {unknown or 'none'}")
    return int(not public or len(public) > MOST or bool(unknown))


if __name__ == "__main__":
    sys.exit(main())
