"""Log lines: one JSON object each on standard error, with the id of the request they belong to."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import msgspec

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")


class JsonLines(logging.Formatter):
    """Time, level, logger, message, and where there are such: request id, process, error."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, whatever the message holds."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "pid": record.process,
        }
        if request_id := REQUEST_ID.get():
            line["request_id"] = request_id
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


def config(level: str) -> dict[str, Any]:
    """Settings for `logging.config.dictConfig`: everything to standard error as JSON lines."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "driftline.serving.logs.JsonLines"}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "stream": "ext://sys.stderr",
                "formatter": "json",
            }
        },
        "root": {"level": "WARNING", "handlers": ["stderr"]},
        "loggers": {
            "driftline": {"level": level.upper()},
            "gunicorn.error": {"level": level.upper(), "propagate": True, "handlers": []},
            "gunicorn.access": {"level": "WARNING", "propagate": True, "handlers": []},
        },
    }
