# SPDX-License-Identifier: Apache-2.0
"""Does an FST file have the contents of the VCD file from which it was made?"""

from __future__ import annotations

from pathlib import Path

from fst import Waves
from thalweg.rtl.waves import to_fst

VCD = """$version Generated $end
$timescale 1ps $end
$scope module TOP $end
 $var wire 1 # clk_i $end
 $scope module inner $end
  $var wire 1 # clk_i $end
  $var wire 8 $ word_q [7:0] $end
 $upscope $end
$upscope $end
$enddefinitions $end

#6
0#
b00000101 $
#7
1#
#9
b1x $
0#
"""


def test_signals_times_and_values(tmp_path: Path) -> None:
    vcd = tmp_path / "run.vcd"
    vcd.write_text(VCD)
    waves = Waves(to_fst(vcd))
    assert not vcd.exists()
    assert waves.end == 9
    assert waves.names == ["TOP.clk_i", "TOP.inner.clk_i", "TOP.inner.word_q [7:0]"]
    assert [waves.value("TOP.inner.clk_i", time) for time in (6, 7, 8, 9)] == ["0", "1", "1", "0"]
    assert waves.value("TOP.inner.word_q [7:0]", 8) == "00000101"
    assert waves.value("TOP.inner.word_q [7:0]", 9) == "0000001x"
