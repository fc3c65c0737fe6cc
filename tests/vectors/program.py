"""antiloop as a program that answers the questions of the vectors."""

import json
import sys

from antiloop.loop_detection._internal import call_fingerprint
from vectors import verdicts_of

for line in sys.stdin:
    asked = json.loads(line)
    if "events" in asked:
        answer = {"verdicts": verdicts_of(asked["preset"], asked["events"])}
    else:
        answer = {"fingerprint": call_fingerprint(asked["tool_name"], asked["arguments"])}
    print(json.dumps(answer))
