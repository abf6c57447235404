"""The log of a server: structured lines on standard error, for programs as JSON and for people in words."""

import logging
import sys
from typing import TextIO

import structlog

__all__ = ["configure_logs"]

_SHARED: tuple[structlog.typing.Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)

_TRACEBACKS = structlog.tracebacks.ExceptionDictTransformer(show_locals=False, max_frames=20)
"""Without the values of variables, among which are tokens, cookies and what people say."""


def configure_logs(stream: TextIO | None = None) -> None:
    """Have all that Prowess and its libraries log written as lines to a stream. For a process that serves only."""
    stream = stream or sys.stderr
    assert stream is not None, "the command line opens it"
    renderer: list[structlog.typing.Processor]
    if stream.isatty():
        renderer = [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
    else:
        renderer = [structlog.processors.ExceptionRenderer(_TRACEBACKS), structlog.processors.JSONRenderer()]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_SHARED,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("prowess").setLevel(logging.INFO)
