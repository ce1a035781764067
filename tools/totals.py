# SPDX-License-Identifier: Apache-2.0
"""Adds up JUnit files: 'N passed, N failed, N skipped', with the reasons for skips. Fails where nothing ran."""

from __future__ import annotations

import sys
from collections import Counter
from xml.etree import ElementTree


def main(paths: list[str]) -> int:
    totals: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for path in paths:
        for case in ElementTree.parse(path).iter("testcase"):
            skipped = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                totals["failed"] += 1
            elif skipped is not None:
                totals["skipped"] += 1
                reasons[skipped.get("message") or "no reason given"] += 1
            else:
                totals["passed"] += 1
    for reason, count in reasons.most_common():
        print(f"{count} skipped: {reason}")
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    return 0 if totals["passed"] and not totals["failed"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
