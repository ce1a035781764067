# SPDX-License-Identifier: Apache-2.0
"""Timelines of simulations, written as Perfetto traces (`Recorded.write_trace`) or HTML pages (`Recorded.write_report`).

Independent of systems: each system fills a `Timeline`.
"""

from thalweg.trace.recorded import Recorded as Recorded
from thalweg.trace.timeline import Counter as Counter
from thalweg.trace.timeline import Message as Message
from thalweg.trace.timeline import Span as Span
from thalweg.trace.timeline import Timeline as Timeline
from thalweg.trace.timeline import Track as Track

__all__ = ["Counter", "Message", "Recorded", "Span", "Timeline", "Track"]
