# SPDX-License-Identifier: Apache-2.0
"""What happened when, as a timeline: for Perfetto (`Recorded.write_trace`), and on a page (`Recorded.write_report`). It knows no system:
whoever ran something fills a `Timeline`."""

from thalweg.trace.recorded import Recorded as Recorded
from thalweg.trace.timeline import Counter as Counter
from thalweg.trace.timeline import Message as Message
from thalweg.trace.timeline import Span as Span
from thalweg.trace.timeline import Timeline as Timeline
from thalweg.trace.timeline import Track as Track
