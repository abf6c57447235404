"""A request that is refused before anything of Prowess has looked at it."""

from collections.abc import Mapping

from prowess.errors import Refused

__all__ = ["RequestRefused"]


class RequestRefused(Refused):
    """Carries the status of the answer, and headers that belong to it."""

    default_code = "bad-request"

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str,
        hint: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, hint=hint, code=code)
        self.status = status
        self.headers = dict(headers or {})
