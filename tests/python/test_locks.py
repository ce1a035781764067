# SPDX-License-Identifier: Apache-2.0
"""Does everything that will be loaded into a process belong to its user alone?"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest
from thalweg.errors import InputError
from thalweg.launch.locks import alone, cache_folder, own


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_folder_of_builds_is_for_its_user_alone(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir(mode=0o777)
    for folder in (tmp_path / "there", tmp_path / "new" / "below"):
        with alone(folder):
            assert _mode(folder) == 0o700


def test_what_belongs_to_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(InputError, match=f"{tmp_path}: belongs to user .* remove it"):
        own(tmp_path)
    with pytest.raises(InputError), alone(tmp_path):
        raise AssertionError("it builds")


def test_an_environment_of_another_user_has_no_cache_for_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If folders of both can be created, that of the environment is used if it is ours, and one at home otherwise."""
    environment, home = tmp_path / "environment", tmp_path / "home"
    monkeypatch.setattr(sys, "prefix", str(environment))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    environment.mkdir()
    cache = cache_folder()
    assert cache == environment / "var" / "thalweg"
    others = cache.stat().st_ino
    real = Path.stat

    def stat_of(path: Path, **options: bool) -> os.stat_result:
        found = real(path, **options)
        if found.st_ino != others:
            return found
        return os.stat_result((*found[:4], found.st_uid + 1, *found[5:]))

    monkeypatch.setattr(Path, "stat", stat_of)
    assert cache_folder() == home / "thalweg"
